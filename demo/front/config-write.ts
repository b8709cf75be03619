import { type BodyMember, createBelow, type Edit, mergeAt, removeAt, replaceAt } from '../model/config-edit.ts';
import type { DataObject, Step } from '../model/data-tree.ts';
import { reversed } from '../model/difference.ts';
import { pathText, type Target } from '../model/instance-path.ts';
import { invalidValue, malformed, methodNotAllowed } from '../model/orchestrator-error.ts';
import { type BranchNode, isBranch } from '../model/schema.ts';
import { type Orchestrator, runTransaction } from '../model/transaction.ts';
import { rootSchema } from '../model/yang-modules.ts';
import { parseJson } from '../wire/action-input.ts';
import { readMembers } from '../wire/body-input.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { dryRunContent } from '../wire/dry-run-content.ts';
import type { Format } from '../wire/media-types.ts';
import { choiceParameter, flagParameter, type Parameters } from '../wire/query-parameters.ts';
import { jsonOfXml, parseXml } from '../wire/xml-input.ts';

/** A write of configuration, in either dialect. */
interface ConfigWrite {
  readonly method: string;
  readonly target: Target;
  readonly body: string;
  readonly bodyFormat: Format;
  readonly parameters: Parameters;
  readonly user: string;
}

/** The reply to a write: 201 with the place of the created node, 200 with content, or 204. */
interface ConfigWritten {
  readonly status: 200 | 201 | 204;
  readonly created?: readonly Step[];
  readonly content?: Content;
}

const dryRunModule = { name: '', namespace: 'http://tail-f.com/ns/restconf/dry-run', prefix: '' };
const resultModule = { name: 'tailf-restconf', namespace: 'http://tail-f.com/ns/tailf-restconf', prefix: '' };

/** Executes POST, PUT, PATCH or DELETE with NSO's commit parameters. */
export function writeConfig(orchestrator: Orchestrator, write: ConfigWrite): ConfigWritten {
  const { target, parameters } = write;
  refuseCombinations(parameters);
  refuseState(target);
  const dryRun = choiceParameter(parameters, 'dry-run', ['cli', 'xml', 'native']);
  const members = write.method === 'DELETE' ? [] : bodyMembers(write);
  let edit: Edit = { next: orchestrator.datastore.root };
  const change = (root: DataObject): DataObject => {
    edit = editOf(write.method, root, target, members);
    return edit.next;
  };
  const { differences, rollbackId } = runTransaction(orchestrator, change, {
    user: write.user,
    path: pathText(target.steps),
    dryRun: dryRun !== undefined,
    noNetworking: flagParameter(parameters, 'no-networking'),
    noOutOfSyncCheck: flagParameter(parameters, 'no-out-of-sync-check'),
    label: parameters.get('rollback-label') ?? parameters.get('label') ?? '',
    comment: parameters.get('rollback-comment') ?? parameters.get('comment') ?? '',
    mapsServices: !flagParameter(parameters, 'no-deploy'),
  });
  if (dryRun !== undefined) {
    const shown = flagParameter(parameters, 'dry-run-reverse') ? reversed(differences) : differences;
    const build = contentOf(dryRunModule);
    const content = build.container('dry-run-result', [dryRunContent(build, edit.next, shown, dryRun)]);
    return { status: write.method === 'POST' ? 201 : 200, content };
  }
  return written(edit, flagParameter(parameters, 'rollback-id') ? rollbackId : undefined);
}

function written({ created }: Edit, rollbackId: number | undefined): ConfigWritten {
  const place = created === undefined ? {} : { created };
  if (rollbackId === undefined) return { status: created === undefined ? 204 : 201, ...place };
  const build = contentOf(resultModule);
  const content = build.container('result', [build.container('rollback', [build.leaf('id', rollbackId)])]);
  return { status: created === undefined ? 200 : 201, ...place, content };
}

function editOf(method: string, root: DataObject, target: Target, members: readonly BodyMember[]): Edit {
  switch (method) {
    case 'POST':
      return createBelow(root, target, members);
    case 'PUT':
      return replaceAt(root, target, members);
    case 'PATCH':
      return mergeAt(root, target, members);
    default:
      return removeAt(root, target);
  }
}

function bodyMembers({ method, target, body, bodyFormat }: ConfigWrite): readonly BodyMember[] {
  const inTarget = method === 'POST' || target.steps.length === 0;
  const above = target.steps.length > 1 ? target.steps.at(-2)?.schema : rootSchema;
  const parent = inTarget ? target.schema : above;
  if (parent === undefined || !isBranch(parent)) throw methodNotAllowed('DELETE, GET, HEAD, OPTIONS, PATCH, PUT');
  if (body.trim() === '') throw malformed('a body was expected', pathText(target.steps));
  const path = pathText(inTarget ? target.steps : target.steps.slice(0, -1));
  return readMembers(parent, parsedBody(parent, body, bodyFormat), path);
}

/** A body for the whole datastore may be wrapped in `data` (RFC 8040, 4.6.1), or hold only its children. */
function parsedBody(parent: BranchNode, body: string, format: Format): unknown {
  if (format === 'json') {
    const json = parseJson(body);
    const isWrapped = parent === rootSchema && typeof json === 'object' && json !== null && 'ietf-restconf:data' in json;
    return isWrapped ? json['ietf-restconf:data'] : json;
  }
  const element = parseXml(body);
  const children = parent === rootSchema && element.name === 'data' ? element.children : [element];
  return Object.assign({}, ...children.map((child) => jsonOfXml(parent, child)));
}

function refuseState({ schema, steps }: Target): void {
  if (!schema.config) throw methodNotAllowed('GET, HEAD, OPTIONS');
  const list = steps.at(-1);
  if (list?.schema.kind === 'list' && list.keys === undefined && !list.schema.config)
    throw methodNotAllowed('GET, HEAD, OPTIONS');
}

function refuseCombinations(parameters: Parameters): void {
  const forbidden = parameters.has('dry-run') ? ['no-overwrite', 'no-out-of-sync-check', 'commit-queue'] : [];
  const clash = forbidden.find((name) => parameters.has(name));
  if (clash !== undefined) throw invalidValue(`dry-run cannot be combined with ${clash}`);
  if (parameters.has('use-lsa') && parameters.has('no-lsa')) throw invalidValue('use-lsa cannot be combined with no-lsa');
}
