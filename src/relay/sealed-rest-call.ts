import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { leavesItsSegment } from '#base/path-segment.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';
import type { Hop } from '#outbound/redirect.ts';
import { headerProblems } from './caller-headers.ts';
import { writeRequestBody } from './request-body.ts';
import type { RestCallRequest } from './rest-call-request.ts';
import { addressTexts, bodyTexts, headerTexts, inJson, type Seal, type SealedText } from './seal.ts';

type Credentials = Pick<RestCallRequest, 'user' | 'password' | 'token'>;

/** What of a restCall may have placeholders. */
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

/** A request as it leaves. */
interface OpenedHop {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

/**
 * Puts the secrets into one request of a call, as the last thing before it leaves. `hop` has placeholders, and no credentials of
 * `authentication`: those are in `credentials` while the request goes to the origin that they are for. Throws `forbidden` and
 * `secret-altered`.
 */
export function openedHop(
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
  const opened = [...openedHeaders(headers, seal), ...(authorization === undefined ? [] : ['Authorization', authorization])];
  // Not pathname + search: `search` drops the ? of an empty query.
  return { path: openedPath(url.href.slice(url.origin.length), seal), headers: opened, body: openedBody(hop, given, seal) };
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

/** The headers (name, value, name, value …) with their secrets. */
export function openedHeaders(headers: readonly string[], seal: Seal): readonly string[] {
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

/** The detail quotes no value. */
function unsendable({ pointer, detail }: RequestProblem): GatewayError {
  return new GatewayError('invalid-request', `The call cannot be sent with its secrets: ${pointer} ${detail}.`);
}

/** Every value stays in its segment of the path. */
export function openedPath(address: string, seal: Seal): string {
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

/** The body is opened before it becomes a form or XML. */
function openedBody({ body: written, headers }: Hop, given: RestCallRequest['body'], seal: Seal): Buffer | undefined {
  const text = given?.toString() ?? '';
  const opened = seal.open(text, inJson);
  if (opened === text) return written;
  const at = headers.findIndex((part, index) => index % 2 === 0 && part.toLowerCase() === 'content-type');
  return writeRequestBody(Buffer.from(opened), headers[at + 1] ?? 'application/json');
}
