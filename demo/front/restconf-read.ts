import { isWholeList } from '../model/config-edit.ts';
import type { Target } from '../model/instance-path.ts';
import { invalidValue } from '../model/orchestrator-error.ts';
import { isBranch, type SchemaNode } from '../model/schema.ts';
import type { Orchestrator } from '../model/transaction.ts';
import type { View } from '../wire/data-content.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { type FieldSelection, readFields } from '../wire/field-selection.ts';
import { type ChosenType, restconfCollectionTypes, restconfTypes } from '../wire/media-types.ts';
import {
  allowedParameters,
  choiceParameter,
  numberParameter,
  type Parameters,
  readParameters,
} from '../wire/query-parameters.ts';
import { readConfig, type Window } from './config-read.ts';
import { emptyReply, type Reply, type Request } from './exchange.ts';
import { unmetPrecondition, validators } from './preconditions.ts';
import { contentReply, negotiated, restconfModule } from './restconf-reply.ts';

/** GET and HEAD of data with `content`, `depth`, `fields`, `exclude`, `limit` and `offset`; 204 where there is no data. */
export function readRestconf(orchestrator: Orchestrator, request: Request, target: Target, content: 'all' | 'config'): Reply {
  const type = negotiated(request, isWholeList(target) ? [...restconfCollectionTypes, ...restconfTypes] : restconfTypes);
  const parameters = readParameters(request.query, allowedParameters.read);
  const view = viewFor(target.schema, parameters, content);
  const unmet = unmetPrecondition(request, orchestrator.datastore);
  if (unmet !== undefined) return unmet;
  const found = readConfig(orchestrator, target, view, windowFor(target, parameters));
  if (found === undefined) return emptyReply(204);
  refuseSeveralRoots(found, type);
  const tags = view.content === 'nonconfig' ? {} : validators(orchestrator.datastore, type.format);
  return contentReply(200, target.steps.length === 0 ? dataRoot(found) : found, type, tags);
}

/** The datastore itself is the container `data` (RFC 8040, 3.4). */
function dataRoot(found: Content): Content {
  return contentOf(restconfModule).container('data', found.kind === 'container' ? found.children : []);
}

/** An XML document has one root (RFC 8040, 4.3): several entries need a collection type. */
function refuseSeveralRoots(found: Content, { format, collection }: ChosenType): void {
  if (format === 'json' || collection) return;
  const roots = found.kind === 'list' ? found.entries.length : found.kind === 'leaf-list' ? found.values.length : 1;
  if (roots > 1) throw invalidValue(`several instances of ${found.name} need Accept: ${restconfCollectionTypes[0]}`);
}

function windowFor(target: Target, parameters: Parameters): Window {
  const isList = target.schema.kind === 'list' && isWholeList(target);
  if (!isList && (parameters.has('limit') || parameters.has('offset'))) throw invalidValue('limit and offset are for lists');
  return {
    offset: numberParameter(parameters, 'offset', 0, 0),
    limit: numberParameter(parameters, 'limit', 1, Number.POSITIVE_INFINITY),
  };
}

function viewFor(schema: SchemaNode, parameters: Parameters, content: 'all' | 'config'): View {
  if (parameters.has('fields') && parameters.has('exclude')) throw invalidValue('fields cannot be combined with exclude');
  return {
    content: choiceParameter(parameters, 'content', ['all', 'config', 'nonconfig']) ?? content,
    depth: numberParameter(parameters, 'depth', 1, Number.POSITIVE_INFINITY),
    fields: selection(schema, parameters, 'fields') ?? 'all',
    exclude: selection(schema, parameters, 'exclude'),
    listsByKeys: false,
    containersEmpty: false,
  };
}

function selection(schema: SchemaNode, parameters: Parameters, name: 'fields' | 'exclude'): FieldSelection | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  if (!isBranch(schema)) throw invalidValue(`${name} needs a container or a list`);
  return readFields(schema, text, name);
}
