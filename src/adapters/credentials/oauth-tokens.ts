import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope, TimeLimitPassed, untilAborted } from '#outbound/call/call-scope.ts';
import { basicCredentials, type OutboundCall, type UpstreamReply, wholeReplyLimit } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import { isRedirect } from '#outbound/policy/redirect.ts';
import { type Credentials, NoCredentials, type OauthClient } from './credentials.ts';

/** Times of the monotonic clock. */
interface HeldToken {
  readonly headers: readonly string[];
  /** A new token is fetched; calls still use this one. */
  readonly renewAt: number;
  /** The token could expire on the way. */
  readonly uselessAt: number;
}

/** Milliseconds, for any number of waiting calls. */
const requestLimit = 10_000;
/** Milliseconds of one failure for all calls, to protect an endpoint that is down. */
const failureMemory = 1_000;
/** Milliseconds. Else an upstream that refuses every token causes a request for each call. */
const refusalPause = 5_000;

interface TokenNeeds {
  /** For errors. */
  readonly name: string;
  readonly client: OauthClient;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
}

/** Client credentials grant (RFC 6749, section 4.4): fetched by the first call, renewed before expiry and after a 401. All calls share one request. */
export function createOauthTokens(options: TokenNeeds): Credentials {
  const { name, client, sender, clock } = options;
  let held: HeldToken | undefined;
  let refusedAt = Number.NEGATIVE_INFINITY;
  const requests = createTokenRequests(options, (token) => {
    held = token;
  });
  const waitForToken = async (scope: CallScope): Promise<readonly string[]> => {
    try {
      return (await untilAborted(scope, requests.once())).headers;
    } catch (reason) {
      if (reason instanceof TimeLimitPassed) throw unavailable(name, client, 'did not answer in the time that the call has');
      throw reason;
    }
  };
  return {
    type: 'oauth2',
    hasOwn: true,
    headers(scope) {
      const now = clock.monotonic();
      if (held === undefined || now >= held.uselessAt) return waitForToken(scope);
      // Only calls without a token get the error.
      if (now >= held.renewAt) requests.once().catch(() => {});
      return held.headers;
    },
    observe(reply, used) {
      if (reply.status !== 401) return false;
      if (held?.headers !== used) return true;
      const now = clock.monotonic();
      if (now < refusedAt + refusalPause) return false;
      refusedAt = now;
      held = undefined;
      return true;
    },
    basis: () => client.clientSecret.reveal(),
    withheld: [],
    async close() {
      await requests.close();
      await sender.close();
    },
  };
}

interface TokenRequests {
  /** Rejects with `adapter-unavailable`. */
  once(): Promise<HeldToken>;
  close(): Promise<void>;
}

function createTokenRequests(needs: TokenNeeds, keep: (token: HeldToken) => void): TokenRequests {
  const { name, client, sender, clock, userAgent } = needs;
  let current: { readonly token: Promise<HeldToken>; readonly scope: CallScope } | undefined;
  let failure: { readonly error: NoCredentials; readonly until: number } | undefined;

  const ask = async (scope: CallScope): Promise<HeldToken> => {
    // The endpoint may have issued the token at any time since.
    const askedAt = clock.monotonic();
    const issued = await requestRenewing({ client, sender, scope, userAgent });
    scope.end();
    current = undefined;
    if ('fault' in issued) {
      const error = unavailable(name, client, issued.fault);
      failure = { error, until: clock.monotonic() + failureMemory };
      throw error;
    }
    failure = undefined;
    const token = heldToken(issued, askedAt);
    keep(token);
    return token;
  };
  return {
    async once() {
      if (current === undefined) {
        if (failure !== undefined && clock.monotonic() < failure.until) throw failure.error;
        const scope = new CallScope({ total: requestLimit, clock });
        current = { token: ask(scope), scope };
      }
      return await current.token;
    },
    async close() {
      current?.scope.abort(new Error('the adapter instance is closed'));
      await current?.token.catch(() => {});
    },
  };
}

/** Renewed a tenth of the lifetime ahead, within 5 to 60 seconds; at half of a short lifetime. */
function heldToken({ token, lifetime = Number.POSITIVE_INFINITY }: GrantedToken, askedAt: number): HeldToken {
  const ahead = Math.min(Math.max(lifetime / 10, 5_000), 60_000, lifetime / 2);
  return {
    headers: ['Authorization', `Bearer ${token}`],
    renewAt: askedAt + lifetime - ahead,
    uselessAt: askedAt + lifetime - ahead / 4,
  };
}

function unavailable(name: string, { tokenUrl }: OauthClient, fault: string): NoCredentials {
  return new NoCredentials(
    `The adapter instance "${name}" has no token for the call: its token endpoint ${new URL(tokenUrl).host} ${fault}. The call was not executed.`,
  );
}

interface GrantedToken {
  readonly token: string;
  /** Milliseconds; undefined if the endpoint does not say. */
  readonly lifetime: number | undefined;
}

/** `fault` continues a sentence on the endpoint, without any part of the secret. */
interface NoToken {
  readonly fault: string;
  /** The endpoint refuses the client. */
  readonly isRefusal: boolean;
}

/** Where the endpoint refuses the client, its secret is read again, and a new one is tried once. */
export async function requestRenewing(options: TokenRequest): Promise<GrantedToken | NoToken> {
  const { clientSecret } = options.client;
  const used = clientSecret.reveal();
  const first = await requestToken(options);
  if (!('fault' in first) || !first.isRefusal) return first;
  await clientSecret.renew();
  return clientSecret.reveal() === used ? first : await requestToken(options);
}

/** Characters. */
const errorTextLimit = 200;
/** Milliseconds of ten years, for absurd `expires_in`. */
const maxLifetime = 10 * 365 * 86_400_000;

/** Client id and secret in HTTP Basic (RFC 6749, section 2.3.1). Follows no redirect; at most 64 KiB. Never rejects. */
async function requestToken({ client, sender, scope, userAgent }: TokenRequest): Promise<GrantedToken | NoToken> {
  try {
    const reply = await sender.send(tokenCall(client, userAgent), scope);
    const read = readReply(reply, client);
    return typeof read === 'string' ? { fault: read, isRefusal: refusesClient(reply) } : read;
  } catch (failure) {
    return { fault: `could not be asked: ${reasonOf(failure)}`, isRefusal: false };
  }
}

interface TokenRequest {
  readonly client: OauthClient;
  readonly sender: Sender;
  readonly scope: CallScope;
  readonly userAgent: string;
}

/** RFC 6749, section 5.2: some endpoints answer 400. */
function refusesClient({ status, head }: UpstreamReply): boolean {
  return status === 401 || (status === 400 && jsonObject(head)?.['error'] === 'invalid_client');
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
    // A second token does no harm.
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

/** The fault as a text. */
function readReply(reply: UpstreamReply, client: OauthClient): GrantedToken | string {
  const { status } = reply;
  if (isRedirect(status)) return `redirects (status ${status}), which the gateway does not follow; change tokenUrl`;
  const body = jsonObject(reply.head);
  if (status !== 200) return `answered ${status}${errorTextOf(body, client)}`;
  if (body === undefined) return 'answered 200 without a JSON object';
  const { access_token: token, token_type: type, expires_in: expiresIn } = body;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/u.test(token))
    return 'answered 200 without an access_token that is usable (visible ASCII, at most 16 KiB)';
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return 'answered 200 with a token_type that is not Bearer';
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

/** A number, or digits of some endpoints; any other value counts as missing. */
function lifetimeOf(expiresIn: unknown): number | undefined {
  const seconds = typeof expiresIn === 'string' && /^\d{1,12}$/u.test(expiresIn) ? Number(expiresIn) : expiresIn;
  return typeof seconds === 'number' && seconds >= 1 ? Math.min(seconds * 1_000, maxLifetime) : undefined;
}

/** RFC 6749, section 5.2, with an explanation of invalid_client. */
function errorTextOf(body: Readonly<Record<string, unknown>> | undefined, client: OauthClient): string {
  const error = textOf(body?.['error'], client);
  const description = textOf(body?.['error_description'], client);
  const meaning = error === 'invalid_client' ? ': it does not accept this clientId and clientSecret, sent with HTTP Basic' : '';
  return `${error === undefined ? '' : ` ${error}`}${description === undefined ? '' : ` ("${description}")`}${meaning}`;
}

/** Characters of RFC 6749, section 5.2. The endpoint may repeat a secret, which is removed. */
function textOf(value: unknown, client: OauthClient): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const said = spellingsOf(client).reduce((text, spelling) => text.replaceAll(spelling, '[secret]'), value);
  return said.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/gu, '?').slice(0, errorTextLimit);
}

/** Of the secret, and of the query, which may have a key. The longest first, because some contain others. */
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
