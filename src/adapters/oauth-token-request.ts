import { GatewayError } from '#base/gateway-error.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';
import { type CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import { type FarSideReply, type OutboundCall, wholeReplyLimit } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import type { Sender } from '#outbound/sender.ts';
import type { OauthClient } from './authentication.ts';

/** A token from the token endpoint. */
export interface GrantedToken {
  /** Visible ASCII. */
  readonly token: string;
  /** Milliseconds; undefined if the endpoint does not say. */
  readonly lifetime: number | undefined;
}

/**
 * Why there is no token. `fault` continues a sentence that begins with the endpoint, and contains no part of the client secret.
 */
interface NoToken {
  readonly fault: string;
}

/** Characters of the endpoint's error text. */
const errorTextLimit = 200;
/** Milliseconds of ten years: a limit for absurd values of `expires_in`. */
const longestLifetime = 10 * 365 * 86_400_000;

/**
 * Sends one request to the token endpoint, with client id and secret in HTTP Basic (RFC 6749, section 2.3.1). Redirects are not
 * followed, and a reply may have at most 64 KiB. Never rejects.
 */
export async function requestToken(options: {
  readonly client: OauthClient;
  readonly sender: Sender;
  readonly scope: CallScope;
  readonly userAgent: string;
}): Promise<GrantedToken | NoToken> {
  const { client, sender, scope, userAgent } = options;
  try {
    return readReply(await sender.send(tokenCall(client, userAgent), scope), client);
  } catch (failure) {
    return { fault: `could not be asked: ${reasonOf(failure)}` };
  }
}

function tokenCall(client: OauthClient, userAgent: string): OutboundCall {
  const url = new URL(client.tokenUrl);
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (client.scope !== undefined) form.set('scope', client.scope);
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: Object.entries({
      Accept: 'application/json',
      'User-Agent': userAgent,
      'Content-Type': 'application/x-www-form-urlencoded',
      Authorization: clientCredentials(client),
    }).flat(),
    body: Buffer.from(form.toString()),
    // To get a second token does no harm.
    stateChanging: false,
    timeouts: { firstByte: 0, idle: 0 },
    responseLimit: wholeReplyLimit,
  };
}

function clientCredentials({ clientId, clientSecret }: OauthClient): string {
  return basicCredentials(formEncoded(clientId), formEncoded(clientSecret.reveal()));
}

/** RFC 6749, appendix B. */
function formEncoded(value: string): string {
  return new URLSearchParams({ v: value }).toString().slice('v='.length);
}

function reasonOf(failure: unknown): string {
  if (failure instanceof TimeLimitPassed) return `it took longer than ${failure.milliseconds} ms (phase ${failure.limit})`;
  return failure instanceof GatewayError ? failure.message.replace(/\.$/u, '') : 'the request was aborted';
}

function readReply(reply: FarSideReply, client: OauthClient): GrantedToken | NoToken {
  const { status } = reply;
  if (isRedirect(status)) return { fault: `redirects (status ${status}), which the gateway does not follow; change tokenUrl` };
  const body = jsonObject(reply.head);
  if (status !== 200) return { fault: `answered ${status}${errorTextOf(body, client)}` };
  if (body === undefined) return { fault: 'answered 200 without a JSON object' };
  const { access_token: token, token_type: type, expires_in: expiresIn } = body;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/u.test(token))
    return { fault: 'answered 200 without an access_token that is usable (visible ASCII, at most 16 KiB)' };
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return { fault: 'answered 200 with a token_type that is not Bearer' };
  return { token, lifetime: lifetimeOf(expiresIn) };
}

function jsonObject(text: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A value of at least 1 second, as a number or (from some endpoints) as digits. Any other value counts as missing. */
function lifetimeOf(expiresIn: unknown): number | undefined {
  const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/u.test(expiresIn) ? Number(expiresIn) : expiresIn;
  return typeof seconds === 'number' && seconds >= 1 ? Math.min(seconds * 1_000, longestLifetime) : undefined;
}

/** The error and its description (RFC 6749, section 5.2), and an explanation of invalid_client. */
function errorTextOf(body: Readonly<Record<string, unknown>> | undefined, client: OauthClient): string {
  const error = textOf(body?.['error'], client);
  const description = textOf(body?.['error_description'], client);
  const meaning = error === 'invalid_client' ? ': it does not accept this clientId and clientSecret, sent with HTTP Basic' : '';
  return `${error === undefined ? '' : ` ${error}`}${description === undefined ? '' : ` ("${description}")`}${meaning}`;
}

/**
 * A text of the endpoint, reduced to the characters that RFC 6749, section 5.2 allows. The endpoint may repeat what it received,
 * so secrets are removed.
 */
function textOf(value: unknown, client: OauthClient): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const said = spellingsOf(client).reduce((text, spelling) => text.replaceAll(spelling, '[secret]'), value);
  return said.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, '?').slice(0, errorTextLimit);
}

/**
 * The spellings of the secret, and of the query of the token endpoint, which may contain a key. Longest first, because some
 * contain others.
 */
function spellingsOf(client: OauthClient): readonly string[] {
  const secret = client.clientSecret.reveal();
  const { search, searchParams } = new URL(client.tokenUrl);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const spellings = [
    clientCredentials(client).slice('Basic '.length),
    base64(`${client.clientId}:${secret}`),
    base64(secret),
    formEncoded(secret),
    encodeURIComponent(secret),
    secret,
    search,
    ...searchParams.values(),
  ];
  return spellings.filter((spelling) => spelling !== '').toSorted((one, other) => other.length - one.length);
}
