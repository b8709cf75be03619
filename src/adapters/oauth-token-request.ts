import { GatewayError } from '#base/gateway-error.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';
import { type CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import { type FarSideReply, type OutboundCall, wholeReplyLimit } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import type { Sender } from '#outbound/sender.ts';
import type { OauthClient } from './authentication.ts';

/** A token as its endpoint granted it. */
export interface GrantedToken {
  /** Visible ASCII. */
  readonly token: string;
  /** Milliseconds; undefined where the endpoint does not say. */
  readonly lifetime: number | undefined;
}

/** Why there is no token: the end of a sentence that begins with the endpoint. Holds nothing of the client secret. */
interface NoToken {
  readonly fault: string;
}

/** Characters of what the endpoint says of an error. */
const saidLimit = 200;
/** Milliseconds; ten years, for a number that is no lifetime of anything. */
const longestLifetime = 10 * 365 * 86_400_000;

/**
 * Asks the token endpoint once, with the client's id and secret in HTTP Basic (RFC 6749 2.3.1); redirects are not followed, a reply has
 * at most 64 KiB. Never rejects.
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
    // A second token beside the first changes nothing.
    stateChanging: false,
    timeouts: { firstByte: 0, idle: 0 },
    responseLimit: wholeReplyLimit,
  };
}

function clientCredentials({ clientId, clientSecret }: OauthClient): string {
  return basicCredentials(formEncoded(clientId), formEncoded(clientSecret.reveal()));
}

/** RFC 6749 appendix B. */
function formEncoded(value: string): string {
  return new URLSearchParams({ v: value }).toString().slice('v='.length);
}

function reasonOf(failure: unknown): string {
  if (failure instanceof TimeLimitPassed) return `it took longer than ${failure.milliseconds} ms (phase ${failure.limit})`;
  return failure instanceof GatewayError ? failure.message.replace(/\.$/u, '') : 'the request was broken off';
}

function readReply(reply: FarSideReply, client: OauthClient): GrantedToken | NoToken {
  const { status } = reply;
  if (isRedirect(status)) return { fault: `redirects (status ${status}), which is not followed; have tokenUrl changed` };
  const body = jsonObject(reply.head);
  if (status !== 200) return { fault: `answered ${status}${saidOf(body, client)}` };
  if (body === undefined) return { fault: 'answered 200 without a JSON object' };
  const { access_token: token, token_type: type, expires_in: expiresIn } = body;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/u.test(token))
    return { fault: 'answered 200 without an access_token that could be sent (visible ASCII, at most 16 KiB)' };
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

/** Seconds of at least 1, as a number or (some endpoints do) in digits; 0, negative numbers and other things tell nothing. */
function lifetimeOf(expiresIn: unknown): number | undefined {
  const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/u.test(expiresIn) ? Number(expiresIn) : expiresIn;
  return typeof seconds === 'number' && seconds >= 1 ? Math.min(seconds * 1_000, longestLifetime) : undefined;
}

/** The error and its description (RFC 6749 5.2), and what an invalid_client means. */
function saidOf(body: Readonly<Record<string, unknown>> | undefined, client: OauthClient): string {
  const error = textOf(body?.['error'], client);
  const description = textOf(body?.['error_description'], client);
  const meaning =
    error === 'invalid_client' ? ': it does not take this clientId and clientSecret, which it got by HTTP Basic' : '';
  return `${error === undefined ? '' : ` ${error}`}${description === undefined ? '' : ` ("${description}")`}${meaning}`;
}

/** Words of the endpoint, in the characters that RFC 6749 5.2 allows. It may repeat what it was sent: secrets are taken out. */
function textOf(value: unknown, client: OauthClient): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const said = spellingsOf(client).reduce((text, spelling) => text.replaceAll(spelling, '[secret]'), value);
  return said.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, '?').slice(0, saidLimit);
}

/** Of the secret, and of the query of the token endpoint, in which a key may stand. The longest first: some are part of others. */
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
