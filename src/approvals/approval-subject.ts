import { createHash, createHmac } from 'node:crypto';
import type { Principal } from '#access/principal.ts';
import type { ApprovalItem, ApprovalReference, ApprovalTask } from '#calls/approval-check.ts';
import { type Call, methodOf } from '#calls/call.ts';
import { shownHeaders } from '#relay/caller-headers.ts';
import { type ApprovalTerms, type StoredCall, termsOf } from './approval.ts';

/**
 * A keyed hash of everything that must stay the same between asking and sending. That is the caller, the route, the adapter instance, the
 * method, the path or address, the headers that leave and the bytes of the body.
 */
export function fingerprintOf(call: Call, principal: Pick<Principal, 'id'>, key: Buffer): string {
  const hash = createHmac('sha256', key);
  const add = (part: Buffer | string | undefined): void => {
    if (part === undefined) hash.update('-');
    else hash.update(`${Buffer.byteLength(part)}:`).update(part);
  };
  add(principal.id);
  add(call.operation);
  if (call.operation === 'restCall') {
    const { verb, destination, user, password, token, headers = {}, body } = call.request;
    for (const part of [verb, destination.href, user, password, headersText(headers), body]) add(part);
    add(call.follows === false ? 'no redirect' : undefined);
    if (token !== undefined) add(token);
  } else {
    const { path, accept, contentType } = call.params;
    const passedOn = 'passedOn' in call ? headersText(call.passedOn) : '';
    for (const part of [call.adapter, methodOf(call), path, accept, contentType, passedOn, bodyOf(call)]) add(part);
    if (call.operation === 'restAction' && call.repeatable === true) add('repeatable');
  }
  return hash.digest('base64url');
}

/** Field names have no case, and their order in a request has no meaning. */
function headersText(headers: Readonly<Record<string, string | undefined>>): string {
  const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return JSON.stringify(fields.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)));
}

function bodyOf(call: Call): Buffer | undefined {
  if (call.operation === 'restCall') return call.request.body;
  return call.operation === 'restQuery' ? undefined : call.body;
}

/** The call as people are shown it, by the masks of its entrance. `secrets`: those that the call carries. */
export function storedCall(
  call: Call,
  { mask = unmasked, maskBody = mask, secrets = [] }: Pick<ApprovalReference, 'mask' | 'maskBody' | 'secrets'> = {},
): { readonly call: StoredCall; readonly body: Buffer | undefined } {
  const shown = JSON.stringify(shownCall(call));
  const masked = mask(shown);
  const given = bodyOf(call);
  const body = given && maskedBody(given, maskBody);
  const redacted = masked !== shown || body !== given || secrets.length > 0;
  return { call: { ...(JSON.parse(masked) as StoredCall), redacted, ...(secrets.length > 0 && { secrets }) }, body };
}

/** The same buffer where nothing of it is masked. */
function maskedBody(body: Buffer, mask: (text: string) => string): Buffer {
  const text = body.toString();
  const masked = mask(text);
  return masked === text ? body : Buffer.from(masked);
}

function shownCall(call: Call): object {
  const { operation } = call;
  if (operation === 'restCall') {
    const { verb: method, destination, user, password, token, headers = {} } = call.request;
    const authenticates = [user, password, token].some((part) => part !== undefined);
    const credentials = authenticates ? { Authorization: '***' } : {};
    return { operation, method, uri: destination.href, headers: { ...shownHeaders(headers), ...credentials }, user };
  }
  const { adapter, params } = call;
  const { path, accept, contentType } = params;
  const passedOn = 'passedOn' in call ? call.passedOn : {};
  const repeatable = operation === 'restAction' ? call.repeatable : undefined;
  return { operation, adapter, method: methodOf(call), path, accept, contentType, passedOn, repeatable };
}

function unmasked(text: string): string {
  return text;
}

/** The subject of an approval that a task asks for. */
export function taskSubject({ run, activity, attempt }: ApprovalTask): string {
  return JSON.stringify([run, activity, attempt]);
}

/** The subject of an approval for calls of a batch. They are of one task, to one adapter instance or one scheme and host, with one method. */
export function batchSubject({ reference }: ApprovalTask, { run, activity, attempt, digest }: ApprovalItem, call: Call): string {
  const target = call.operation === 'restCall' ? call.request.destination.origin : call.adapter;
  const method = call.operation === 'restCall' ? call.request.verb : methodOf(call);
  return JSON.stringify(['batch', run, activity, attempt, digest, reference, call.operation === 'restCall', target, method]);
}

/** The same for each attempt at the task in this turn. */
export function placeOfUse({ reference }: ApprovalTask, { turn }: ApprovalItem): string {
  return createHash('sha256')
    .update(JSON.stringify([turn, reference]))
    .digest('base64url');
}

/** Two lists of rules have the same digest only if they ask for the same. */
export function digestOfTerms(rules: readonly ApprovalTerms[]): string {
  return createHash('sha256')
    .update(JSON.stringify(rules.map(termsOf)))
    .digest('base64url');
}

/** Whether the approval asks for at least what the rules ask for now. */
export function covers(approved: readonly ApprovalTerms[], needed: readonly ApprovalTerms[]): boolean {
  const texts = new Set(approved.map((terms) => JSON.stringify(termsOf(terms))));
  return needed.every((terms) => texts.has(JSON.stringify(termsOf(terms))));
}
