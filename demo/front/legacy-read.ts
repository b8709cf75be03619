import { isWholeList } from '../model/config-edit.ts';
import { legacyPathText, type Target } from '../model/instance-path.ts';
import { invalidValue } from '../model/orchestrator-error.ts';
import { isBranch } from '../model/schema.ts';
import type { Orchestrator } from '../model/transaction.ts';
import type { View } from '../wire/data-content.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { readFields } from '../wire/field-selection.ts';
import { legacyTypes } from '../wire/media-types.ts';
import { allowedParameters, numberParameter, type Parameters, readParameters } from '../wire/query-parameters.ts';
import { readConfig } from './config-read.ts';
import { emptyReply, type Reply, type Request } from './exchange.ts';
import { legacyContentReply, legacyHeaders, legacyModule, negotiatedLegacy } from './legacy-reply.ts';
import { unmetPrecondition } from './preconditions.ts';

const allow = { Allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT' };

/**
 * GET and HEAD of the legacy API. Lists below the target show only their keys. `deep` shows everything, `shallow` shows containers below
 * as empty, `select` chooses members. A whole list needs a collection type.
 */
export function readLegacy(orchestrator: Orchestrator, request: Request, target: Target, datastore: string): Reply {
  const kind = target.steps.length === 0 ? 'datastore' : isWholeList(target) ? 'collection' : 'data';
  const type = negotiatedLegacy(request, legacyTypes(kind));
  const parameters = readParameters(request.query, allowedParameters.legacyRead);
  const unmet = unmetPrecondition(request, orchestrator.datastore);
  if (unmet !== undefined) return unmet;
  const window = {
    offset: numberParameter(parameters, 'offset', 0, 0),
    limit: numberParameter(parameters, 'limit', 1, Number.POSITIVE_INFINITY),
  };
  const found = readConfig(orchestrator, target, viewFor(target, parameters, datastore), window);
  if (found === undefined) return emptyReply(204, { ...allow, ...legacyHeaders });
  const shown = parameters.has('deep') || parameters.has('select') ? found : withOperations(found, target, datastore);
  return legacyContentReply(200, wrapped(shown, kind), type, {
    ...allow,
    ETag: `"${orchestrator.datastore.transactionId}"`,
    'Last-Modified': orchestrator.datastore.lastModified.toUTCString(),
  });
}

/** A single entry has no wrapper; `collection` wraps a whole list, `data` the datastore. */
function wrapped(found: Content, kind: 'datastore' | 'collection' | 'data'): Content {
  const build = contentOf(legacyModule);
  if (kind === 'collection') return build.container('collection', [found]);
  if (kind === 'datastore') return build.container('data', found.kind === 'container' ? found.children : []);
  if (found.kind !== 'list') return found;
  return contentOf(found.module).container(found.name, found.entries[0] ?? []);
}

function viewFor({ schema }: Target, parameters: Parameters, datastore: string): View {
  if (parameters.has('deep') && parameters.has('shallow')) throw invalidValue('deep cannot be combined with shallow');
  const select = parameters.get('select');
  const isDeep = parameters.has('deep') || select !== undefined;
  return {
    content: datastore === 'operational' || datastore === 'operations' ? 'all' : 'config',
    depth: Number.POSITIVE_INFINITY,
    fields: select !== undefined && isBranch(schema) ? readFields(schema, select, 'select') : 'all',
    exclude: undefined,
    listsByKeys: !isDeep,
    containersEmpty: parameters.has('shallow'),
  };
}

/** The hyperlinks to the target's actions. */
function withOperations(found: Content, { schema, steps }: Target, datastore: string): Content {
  if (!isBranch(schema) || schema.actions.size === 0) return found;
  const build = contentOf(legacyModule);
  const place = `/api/${datastore}${legacyPathText(steps)}/_operations`;
  const links = build.container(
    'operations',
    [...schema.actions.keys()].map((name) => build.leaf(name, `${place}/${name}`)),
  );
  if (found.kind === 'container') return { ...found, children: [...found.children, links] };
  const isEntry = found.kind === 'list' && steps.at(-1)?.keys !== undefined;
  return isEntry ? { ...found, entries: found.entries.map((entry) => [...entry, links]) } : found;
}
