import { matchesPaths } from '#adapters/paths/path-rights.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { leavesItsSegment } from '#base/text/path-segment.ts';
import { basicCredentials } from '#outbound/call/outbound-call.ts';
import type { Hop } from '#outbound/policy/redirect.ts';
import { headerProblems } from './caller-headers.ts';
import type { OrchestratorParams, PassedOnHeaders } from './orchestrator-request.ts';
import { writeRequestBody } from './request-body.ts';
import type { RestCallRequest } from './rest-call-request.ts';

export interface SealedText {
  /** `authentication`, `query`, `path`, `body`, `header:NAME`; or another part, without secrets. */
  readonly place: string;
  readonly text: string;
}

/** `adapter`: by name. */
export type SealedDestination = { readonly adapter: string } | { readonly url: URL };

export interface CarriedSecret {
  readonly name: string;
  readonly place: string;
}

/** Secrets that a call of a run may carry. It has placeholders until it leaves, so that no other part gets a value. */
export interface Seal {
  /** By the configuration in force. */
  refusal(texts: readonly SealedText[], to: SealedDestination): GatewayError | undefined;
  carried(texts: readonly SealedText[]): readonly CarriedSecret[];
  /** With the present values, written by `encode`. Only after `refusal` let the call pass. */
  open(text: string, encode?: (value: string) => string): string;
  /** Of a call to come. After a 401 it reads the sources of these secrets again: true if a value is another one than before the call. Never rejects. */
  renewal(carried: readonly CarriedSecret[]): () => Promise<boolean>;
  /** For readers. */
  shown(text: string): string;
  /** As `shown`, with placeholders, and without what people filled into the password fields of a form. */
  masked(text: string): string;
  /** The JSON text without what people filled into these fields. */
  withoutPasswords(jsonText: string): string;
  /** Names of these fields. */
  readonly hiddenFields: readonly string[];
  /** A text of the upstream has a placeholder, or the value of a secret of the run. */
  gives(text: string): boolean;
}

export const noSeal: Seal = {
  refusal: () => undefined,
  carried: () => [],
  open: (text) => text,
  renewal: () => () => Promise.resolve(false),
  shown: (text) => text,
  masked: (text) => text,
  withoutPasswords: (text) => text,
  hiddenFields: [],
  gives: () => false,
};

/** Origin and beginning of the path, in every reading of the path. */
export function isDestination(addresses: readonly string[], { origin, pathname }: URL): boolean {
  return addresses.some((address) => {
    const allowed = new URL(address);
    return allowed.origin === origin && matchesPaths([`${allowed.pathname.replace(/\/$/u, '')}/**`], pathname);
  });
}

function addressTexts(path: string): readonly SealedText[] {
  const at = path.indexOf('?');
  if (at < 0) return [{ place: 'path', text: path }];
  return [
    { place: 'path', text: path.slice(0, at) },
    { place: 'query', text: path.slice(at + 1) },
  ];
}

function headerTexts(headers: readonly string[]): readonly SealedText[] {
  return headers.map((text, index) => {
    const name = headers[index - 1] ?? '';
    return { place: index % 2 === 0 ? 'the name of a header' : `header:${name.toLowerCase()}`, text };
  });
}

function bodyTexts(body: Buffer | undefined): readonly SealedText[] {
  return body === undefined ? [] : [{ place: 'body', text: body.toString() }];
}

/** Parts that may have placeholders. */
export function orchestratorTexts({
  params: { path, accept, contentType: type },
  passedOn = {},
  body,
}: {
  readonly params: OrchestratorParams;
  readonly passedOn?: PassedOnHeaders;
  readonly body?: Buffer | undefined;
}): readonly SealedText[] {
  const headers = ['Accept', accept, ...(type === undefined ? [] : ['Content-Type', type]), ...Object.entries(passedOn).flat()];
  return [...addressTexts(path), ...headerTexts(headers), ...bodyTexts(body)];
}

/** Within a JSON string. */
export function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

type Credentials = Pick<RestCallRequest, 'user' | 'password' | 'token'>;

/** Parts that may have placeholders. */
export function restCallTexts({ destination, headers = {}, body, ...credentials }: RestCallRequest): readonly SealedText[] {
  return [
    ...urlTexts(destination),
    ...headerTexts(Object.entries(headers).flat()),
    ...credentialTexts(credentials),
    ...bodyTexts(body),
  ];
}

function urlTexts({ origin, href }: URL): readonly SealedText[] {
  return [{ place: 'the host', text: origin }, ...addressTexts(href.slice(origin.length))];
}

function credentialTexts({ user = '', password = '', token = '' }: Credentials): readonly SealedText[] {
  return [user, password, token].map((text) => ({ place: 'authentication', text }));
}

interface OpenedHop {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

/** The last step before the request leaves. `hop` has placeholders; `credentials` only towards their own origin. Throws `forbidden` and `secret-altered`. */
export function openHop(
  hop: Hop,
  seal: Seal,
  { credentials, body }: { readonly credentials: Credentials | undefined; readonly body: RestCallRequest['body'] },
): OpenedHop {
  const { url, headers } = hop;
  const given = hop.body === undefined ? undefined : body;
  const texts = [
    ...urlTexts(url),
    ...headerTexts(headers),
    ...(credentials === undefined ? [] : credentialTexts(credentials)),
    ...bodyTexts(given),
  ];
  const refusal = seal.refusal(texts, { url });
  if (refusal !== undefined) throw refusal;
  const authorization = credentials && authorizationOf(credentials, seal);
  const opened = [...openHeaders(headers, seal), ...(authorization === undefined ? [] : ['Authorization', authorization])];
  // `search` would drop the ? of an empty query.
  return { path: openPath(url.href.slice(url.origin.length), seal), headers: opened, body: openBody(hop, given, seal) };
}

function authorizationOf({ user, password, token }: Credentials, seal: Seal): string | undefined {
  if (token !== undefined) {
    const value = `Bearer ${seal.open(token)}`;
    refuseUnsendable('Authorization', value);
    return value;
  }
  if (user === undefined && password === undefined) return undefined;
  const [name, secret] = [seal.open(user ?? ''), seal.open(password ?? '')];
  if (name.includes(':')) throw unsendable({ pointer: '/user', detail: 'has a colon, which Basic authentication cannot carry' });
  return basicCredentials(name, secret);
}

export function openHeaders(headers: readonly string[], seal: Seal): readonly string[] {
  return headers.map((part, index) => {
    const opened = index % 2 === 0 ? part : seal.open(part);
    if (opened !== part) refuseUnsendable(headers[index - 1] ?? '', opened);
    return opened;
  });
}

function refuseUnsendable(name: string, value: string): void {
  const [problem] = headerProblems({ [name]: value });
  if (problem !== undefined) throw unsendable(problem);
}

/** Quotes no value. */
function unsendable({ pointer, detail }: RequestProblem): GatewayError {
  return new GatewayError('invalid-request', `The call cannot be sent with its secrets: ${pointer} ${detail}.`);
}

/** A value stays in its segment. */
export function openPath(address: string, seal: Seal): string {
  const at = address.indexOf('?');
  const [path, query] = at < 0 ? [address, ''] : [address.slice(0, at), address.slice(at)];
  const segments = path.split('/').map((segment) => {
    const opened = seal.open(segment, encodeURIComponent);
    if (opened !== segment && leavesItsSegment(opened))
      throw unsendable({ pointer: 'the path', detail: 'has a secret that leads out of its segment' });
    return opened;
  });
  return segments.join('/') + seal.open(query, encodeURIComponent);
}

/** Before it becomes a form or XML. */
function openBody({ body: written, headers }: Hop, given: RestCallRequest['body'], seal: Seal): Buffer | undefined {
  const text = given?.toString() ?? '';
  const opened = seal.open(text, inJson);
  if (opened === text) return written;
  const at = headers.findIndex((part, index) => index % 2 === 0 && part.toLowerCase() === 'content-type');
  return writeRequestBody(Buffer.from(opened), headers[at + 1] ?? 'application/json');
}
