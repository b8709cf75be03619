import type { ChangeCall, DryRunFormat, NoDryRun, WrittenDryRun } from '#adapters/dry-runs.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';
import { opaqueMembers } from '#json/opaque-member.ts';
import { localName } from './json-members.ts';
import { longestParsed, nameOfTarget, treeOf, whyNoChild } from './post-target.ts';

type Written = WrittenDryRun | NoDryRun;

/** The actions of NSO whose input has a `dry-run`. */
const actions: ReadonlySet<string> = new Set(['sync-from', 'sync-to', 're-deploy', 'un-deploy']);

/** NSO combines no dry run with these commit parameters. */
const excluded = /^(?:no-overwrite|no-out-of-sync-check|commit-queue(?:-.*)?)$/u;

const json = 'application/yang-data+json';

/**
 * Writes a call to NSO as its own dry run: configuration gets the query parameter `dry-run`, an action the member `dry-run` in its input.
 * NSO refuses query parameters of an action, and unknown members of its input.
 */
export function writeDryRun(call: ChangeCall, format: DryRunFormat): Written {
  if (call.method === 'GET') return { none: 'a GET has no dry run' };
  const [resource = ''] = call.path.split('?', 1);
  const [, place] = /^\/?restconf\/(data|operations)(?:\/|$)/u.exec(resource) ?? [];
  if (place === undefined)
    return { none: 'NSO has dry runs of configuration changes and actions below restconf/data and restconf/operations alone' };
  if (call.method !== 'POST')
    return place === 'data' ? configurationDryRun(call, format) : { none: 'an operation takes POST alone' };
  return postDryRun(resource, place, call, format);
}

/** A POST that the orchestrator may take for another one than the gateway does is not sent. */
function postDryRun(resource: string, place: string, call: ChangeCall, format: DryRunFormat): Written {
  const target = nameOfTarget(resource);
  if (target === undefined)
    return { none: 'the path of the POST is not written as NSO writes paths, so what it names is not certain' };
  if (!target.isEntry && actions.has(target.name)) return actionDryRun(call, format);
  const problem = place === 'operations' ? 'it is an operation' : whyNoChild(call);
  if (problem === undefined) return configurationDryRun(call, format);
  return { none: `NSO has no dry run of this POST: ${problem}; it has one of the actions ${[...actions].join(', ')}` };
}

function configurationDryRun({ path, body, contentType, passedOn }: ChangeCall, format: DryRunFormat): Written {
  if (/yang-patch/iu.test(contentType)) return { none: 'a dry run of a YANG Patch is not documented' };
  if (passedOn['x-cisco-nso-commit-params'] !== undefined) return { none: inParams('X-Cisco-NSO-Commit-Params') };
  const [, query] = /^[^?]*\?(.*)$/su.exec(path) ?? [];
  const problem = query === undefined ? undefined : queryProblem(query);
  if (problem !== undefined) return problem;
  const separator = query === undefined ? '?' : query === '' || query.endsWith('&') ? '' : '&';
  return { path: `${path}${separator}dry-run=${format}`, body, contentType };
}

function queryProblem(query: string): NoDryRun | undefined {
  for (const parameter of query.split(/[&;]/u)) {
    const [written = ''] = parameter.split('=', 1);
    const name = decoded(written);
    if (name === undefined) return { none: 'a query parameter is percent-encoded in a wrong way' };
    if (name === 'dry-run') return isDryRun;
    if (name === 'params') return { none: inParams('the query parameter params') };
    if (excluded.test(name)) return { none: `NSO combines no dry run with ${name}` };
  }
  return undefined;
}

/** Another server would execute such a call. */
const isDryRun: NoDryRun = {
  none: 'the call is a dry run itself: it changes nothing, and its reply is the preview',
  ofProven: true,
};

function inParams(place: string): string {
  return `its commit parameters are in ${place}, to which the gateway adds nothing`;
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name).trim().toLowerCase();
  } catch {
    return undefined;
  }
}

function isXml(contentType: string): boolean {
  return /[/+]xml\b/iu.test(contentType);
}

function actionDryRun({ path, body, contentType }: ChangeCall, format: DryRunFormat): Written {
  if (path.includes('?')) return { none: 'NSO takes no query parameters with an action' };
  const member = `"dry-run":{"outformat":"${format}"}`;
  if (body === undefined || isEmpty(body)) return { path, body: Buffer.from(`{"input":{${member}}}`), contentType: json };
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
  };
}

function isEmpty(body: Buffer): boolean {
  return body.length <= 1_024 && /^\s*\{\s*\}\s*$/u.test(body.toString());
}

type Input = { readonly start: number; readonly end: number; readonly members: Extract<JsonNode, { kind: 'object' }>['members'] };

/** The place of the object in `{"input":{…}}`. */
function inputOf(body: Buffer): Input | NoDryRun {
  if (body.length > longestParsed) return { none: `the input is longer than ${longestParsed} bytes` };
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
