import { isUtf8 } from 'node:buffer';
import { opaqueMembers, pointerTo } from '#json/json-pointer.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, JsonTreeReader, readJsonTree } from '#json/json-tree.ts';
import { readXml } from '#xml/xml-document.ts';
import type { ChangeCall, DryRunFormat, DryRuns, NoDryRun, WrittenDryRun } from '../../dry-runs.ts';
import { decode, parametersOf, takeParams, withParameter, withParams } from './commit-params.ts';
import { localName } from './dry-run-answer.ts';

type Written = WrittenDryRun | NoDryRun;

type Asked = Parameters<DryRuns['write']>[1];

/** Their input has a `dry-run`. */
export const dryRunActions: ReadonlySet<string> = new Set(['sync-from', 'sync-to', 're-deploy', 'un-deploy']);

/** Commit parameters that NSO combines with no dry run. */
const excluded = /^(?:no-overwrite|no-out-of-sync-check|commit-queue(?:-.*)?)$/u;

const json = 'application/yang-data+json';

/** A parameter of the commit for configuration, member `dry-run` in the input of an action. NSO refuses each at the other. */
export function writeDryRun(call: ChangeCall, asked: Asked): Written {
  if (call.method === 'GET') return { none: 'a GET has no dry run' };
  const [resource = ''] = call.path.split('?', 1);
  const [, place] = /^\/?restconf\/(data|operations)(?:\/|$)/u.exec(resource) ?? [];
  if (place === undefined)
    return { none: 'NSO has dry runs of configuration changes and actions below restconf/data and restconf/operations alone' };
  if (call.method !== 'POST')
    return place === 'data' ? configurationDryRun(call, asked) : { none: 'an operation takes POST alone' };
  return postDryRun({ resource, place }, call, asked);
}

/** Does not send a POST that the orchestrator may take for another. */
function postDryRun(
  { resource, place }: { readonly resource: string; readonly place: string },
  call: ChangeCall,
  asked: Asked,
): Written {
  const target = nameOfTarget(resource);
  if (target === undefined)
    return { none: 'the path of the POST is not written as NSO writes paths, so what it names is not certain' };
  if (!target.isEntry && dryRunActions.has(target.name)) return actionDryRun(call, asked.format);
  const problem = place === 'operations' ? 'it is an operation' : whyNoChild(call);
  if (problem === undefined) return configurationDryRun(call, asked);
  return { none: `NSO has no dry run of this POST: ${problem}; it has one of the actions ${[...dryRunActions].join(', ')}` };
}

function configurationDryRun(call: ChangeCall, { format, form }: Asked): Written {
  const { path, body, contentType } = call;
  if (/yang-patch/iu.test(contentType)) return { none: 'a dry run of a YANG Patch is not documented' };
  const problem = queryProblem(path);
  if (problem !== undefined) return problem;
  const own = takeParams(call);
  if ('problem' in own) return { none: own.problem };
  const inParams = own.params.map(([name]) => problemOf(localName(name))).find((found) => found !== undefined);
  if (form === 'params') return inParams ?? { ...withParams(own, ['dry-run', `{"outformat":"${format}"}`]), body, contentType };
  if (own.isGiven)
    return { none: 'its commit parameters are in params or X-Cisco-NSO-Commit-Params, which NSO before 6.7 does not know' };
  return { path: withParameter(path, `dry-run=${format}`), body, contentType, passedOn: own.passedOn };
}

function queryProblem(path: string): NoDryRun | undefined {
  const parameters = parametersOf(path);
  if (parameters === undefined) return { none: 'a query parameter is percent-encoded in a wrong way' };
  return parameters.map(([name]) => problemOf(name)).find((found) => found !== undefined);
}

/** Of a commit parameter, wherever it is. */
function problemOf(name: string): NoDryRun | undefined {
  if (name === 'dry-run') return isDryRun;
  return excluded.test(name) ? { none: `NSO combines no dry run with ${name}` } : undefined;
}

/** Another server would execute it. */
const isDryRun: NoDryRun = {
  none: 'the call is a dry run itself: it changes nothing, and its reply is the preview',
  ofProven: true,
};

function isXml(contentType: string): boolean {
  return /[/+]xml\b/iu.test(contentType);
}

function actionDryRun({ path, body, contentType, passedOn }: ChangeCall, format: DryRunFormat): Written {
  if (path.includes('?')) return { none: 'NSO takes no query parameters with an action' };
  const member = `"dry-run":{"outformat":"${format}"}`;
  if (body === undefined || isEmpty(body))
    return { path, body: Buffer.from(`{"input":{${member}}}`), contentType: json, passedOn };
  if (isXml(contentType)) return { none: 'the gateway adds dry-run to an input in JSON alone' };
  const input = inputOf(body);
  if ('none' in input) return input;
  const { start, end, members } = input;
  if (members.some(([name]) => localName(name) === 'dry-run')) return isDryRun;
  const added = Buffer.from(members.length === 0 ? member : `${member},`);
  const inside = start + 1;
  return {
    path,
    body: Buffer.concat([body.subarray(0, inside), added, body.subarray(inside, end), body.subarray(end)]),
    contentType,
    passedOn,
  };
}

function isEmpty(body: Buffer): boolean {
  return body.length <= 1_024 && /^\s*\{\s*\}\s*$/u.test(body.toString());
}

type Input = { readonly start: number; readonly end: number; readonly members: Extract<JsonNode, { kind: 'object' }>['members'] };

/** In `{"input":{…}}`. */
function inputOf(body: Buffer): Input | NoDryRun {
  if (body.length > maxParsedSize) return { none: `the input is longer than ${maxParsedSize} bytes` };
  const tree = treeOf(body);
  const [wrapper, other] = tree?.kind === 'object' ? tree.members : [];
  if (wrapper === undefined || other !== undefined || localName(wrapper[0]) !== 'input' || wrapper[1].kind !== 'object')
    return { none: 'the body of the action is not an object {"input": {…}}' };
  const pointer = pointerTo('', wrapper[0]);
  const reader = new JsonTreeReader(body, { opaque: opaqueMembers([pointer]) });
  reader.read();
  const span = reader.spans.get(pointer);
  if (span === undefined) return { none: 'the body of the action is not an object {"input": {…}}' };
  const start = span.byteOffset - body.byteOffset;
  return { start, end: start + span.length, members: wrapper[1].members };
}

const maxParsedSize = 1024 ** 2;

/** RFC 7950, 6.2, with an optional module. */
const identifier = String.raw`(?:[a-z_][\w.\-]*:)?[a-z_][\w.\-]*`;
const resourceName = new RegExp(`^${identifier}$`, 'iu');
const listEntry = new RegExp(`^${identifier}=`, 'iu');

/** The decoded local name; undefined where a server may read it otherwise. */
function nameOfTarget(resource: string): { readonly name: string; readonly isEntry: boolean } | undefined {
  const segments = resource.replace(/^\//u, '').split('/').map(decode);
  const isPlain = segments.every((segment) => segment !== undefined && (resourceName.test(segment) || listEntry.test(segment)));
  const last = segments.at(-1);
  if (!isPlain || last === undefined) return undefined;
  const isEntry = listEntry.test(last);
  return { name: localName(isEntry ? last.slice(0, last.indexOf('=')) : last), isEntry };
}

/** The body of an action is `input`, or none. */
function whyNoChild({ body, contentType }: Pick<ChangeCall, 'body' | 'contentType'>): string | undefined {
  if (body === undefined) return 'it has no body, so it may be an action';
  if (body.length > maxParsedSize) return `its body is longer than ${maxParsedSize} bytes`;
  const name = childOf(body, contentType);
  if (name === undefined || !resourceName.test(name))
    return 'its body names no single configuration child, so it may be an action';
  return localName(name).toLowerCase() === 'input' ? 'its body is the input of an action' : undefined;
}

/** Its member, or its root element. */
function childOf(body: Buffer, contentType: string): string | undefined {
  if (/[/+]json\s*(?:;|$)/iu.test(contentType)) {
    const tree = treeOf(body);
    const [child, other] = tree?.kind === 'object' ? tree.members : [];
    return other === undefined ? child?.[0] : undefined;
  }
  if (!/[/+]xml\s*(?:;|$)/iu.test(contentType) || !isUtf8(body)) return undefined;
  const read = readXml(body.toString());
  return 'root' in read ? read.root : undefined;
}

function treeOf(body: Buffer): JsonNode | undefined {
  try {
    return readJsonTree(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
