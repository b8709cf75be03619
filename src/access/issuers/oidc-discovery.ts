import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { inTime } from '#base/timing/in-time.ts';
import type { IssuerOptions } from '../rights/access-options.ts';
import { type RefusedToken, tokenFault } from '../tokens/token-fault.ts';

/**
 * As the libraries call `fetch`. `wiring/` passes in the sender of `outbound/`, which follows no redirect. Rejects, or resolves
 * with any status.
 */
export type IssuerFetch = (
  url: string,
  request: {
    readonly method: 'GET' | 'POST';
    readonly headers: Headers | Readonly<Record<string, string>>;
    readonly body?: URLSearchParams | undefined;
  },
) => Promise<Response>;

interface IssuerDocuments {
  readonly keys: JWTVerifyGetKey;
  readonly server: oauth.AuthorizationServer;
}

interface RequestOptions {
  readonly [oauth.customFetch]: IssuerFetch;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** Rejects with an error that quotes nothing of the documents, or as `fetch` does. */
async function fetchIssuerDocuments(issuer: string, fetch: IssuerFetch): Promise<IssuerDocuments> {
  const reply = await oauth.discoveryRequest(new URL(issuer), requestOptions(issuer, fetch));
  const server = await oauth.processDiscoveryResponse(new URL(issuer), reply);
  // The library compares normal forms, but the claim `iss` has to be the same text.
  if (server.issuer !== issuer) throw new Error('its discovery document names another issuer');
  // `createIssuerKeys` says when to fetch.
  const own = { [customFetch]: fetch, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const keys = createRemoteJWKSet(addressIn(server, 'jwks_uri'), own);
  await keys.reload();
  return { keys, server };
}

/** An issuer with TLS needs endpoints with TLS: otherwise anyone on the path could replace what they say. */
export function requestOptions(issuer: string, fetch: IssuerFetch): RequestOptions {
  return { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: !isHttps(new URL(issuer)) };
}

/** Throws if the discovery document has no usable address. */
export function addressIn(
  server: oauth.AuthorizationServer,
  member: 'jwks_uri' | 'authorization_endpoint' | 'token_endpoint',
): URL {
  const address = URL.parse(server[member] ?? '');
  if (address === null) throw new Error(`its discovery document has no ${member}`);
  if (!isHttps(address) && address.protocol !== new URL(server.issuer).protocol) throw new Error(`its ${member} is not https`);
  return address;
}

function isHttps({ protocol }: URL): boolean {
  return protocol === 'https:';
}

const minute = 60_000;
/** Milliseconds. An unknown key id has the keys fetched earlier. */
const freshFor = 10 * minute;
/** Milliseconds, while the issuer does not answer. */
const usableFor = 60 * minute;
/** Milliseconds between two fetches for unknown key ids, which attackers can make up. */
const unknownKeyInterval = 30_000;
const retryAfterFailure = 5_000;
/** Milliseconds for which a caller waits while the old keys are usable. */
const refreshWait = 1_000;

interface FetchedDocuments extends IssuerDocuments {
  readonly at: number;
}

export type IssuerKeys = ReturnType<typeof createIssuerKeys>;

/** Found by OpenID Connect Discovery. */
export function createIssuerKeys({
  issuer,
  fetch,
  clock,
  log,
}: {
  readonly issuer: string;
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  readonly log: Log;
}) {
  let fetched: FetchedDocuments | undefined;
  let triedAt = -Infinity;
  let hasFailed = false;
  let inProgress: Promise<boolean> | undefined;

  const age = (): number => clock.monotonic() - (fetched?.at ?? -Infinity);

  const renew = async (): Promise<boolean> => {
    triedAt = clock.monotonic();
    try {
      fetched = { ...(await fetchIssuerDocuments(issuer, fetch)), at: clock.monotonic() };
      hasFailed = false;
      return true;
    } catch (error) {
      hasFailed = true;
      log.warn('the keys of an OIDC issuer could not be fetched', {
        address: issuer,
        reason: error instanceof Error ? error.message : 'no answer',
      });
      return false;
    } finally {
      inProgress = undefined;
    }
  };
  const renewOnce = (): Promise<boolean> => (inProgress ??= renew());

  const current = async (): Promise<FetchedDocuments> => {
    const mayTry = inProgress !== undefined || clock.monotonic() - triedAt >= retryAfterFailure;
    if (age() >= freshFor && mayTry) {
      const renewal = renewOnce();
      await (age() >= usableFor ? renewal : inTime(renewal, refreshWait, () => false));
    }
    if (fetched === undefined || age() >= usableFor) throw keysUnavailable();
    return fetched;
  };

  return {
    /** Rejects with 503 if no keys are usable. */
    get: async () => (await current()).keys,
    /** The discovery document of the keys. Rejects with 503. */
    server: async () => (await current()).server,
    /**
     * Fetches again for an unknown key id. `presentedAt`: milliseconds of the monotonic clock. Undefined if the keys were fetched since.
     * Rejects with 503 if the fetch fails or comes too early: the issuer may have published the key since the last.
     */
    async renew(presentedAt: number): Promise<JWTVerifyGetKey | undefined> {
      if (!hasFailed && fetched !== undefined && fetched.at >= presentedAt) return undefined;
      const wait = (hasFailed ? retryAfterFailure : unknownKeyInterval) - (clock.monotonic() - triedAt);
      if (inProgress === undefined && wait > 0) throw hasFailed ? keysUnavailable() : keyMayBeNew(wait);
      if (!(await renewOnce())) throw keysUnavailable();
      return fetched?.keys;
    },
  };
}

/** Not 401: the token may be valid, and a client that gets a 401 discards its token. */
function keysUnavailable(): GatewayError {
  return unavailable("The gateway cannot get the keys of the token's issuer right now: try again later.", retryAfterFailure);
}

function keyMayBeNew(wait: number): GatewayError {
  return unavailable(
    "The token names a key that the gateway does not have yet, and it is too early to ask the token's issuer again: try again later.",
    wait,
  );
}

/** Milliseconds. */
function unavailable(message: string, wait: number): GatewayError {
  return new GatewayError('issuer-unavailable', message, { headers: { 'Retry-After': String(Math.ceil(wait / 1000)) } });
}

/** Seconds by which clocks may differ. */
export const clockTolerance = 60;

export interface ClaimRules {
  readonly issuer: IssuerOptions;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly audience: string;
  /** Names of claims. */
  readonly required: readonly string[];
  /** In lower case; a token without `typ` is accepted too. */
  readonly types: ReadonlySet<string>;
}

export interface VerifiedClaims {
  readonly claims: JWTPayload;
  /** Milliseconds since the epoch, a safe integer for any `exp`. */
  readonly expiresAt: number;
}

/**
 * A token signed by its issuer, for that audience, and in time; else a fault. Rejects with 503 if the keys are not available, or
 * may be out of date.
 */
export async function verifyClaims(token: string, rules: ClaimRules): Promise<VerifiedClaims | RefusedToken> {
  const presentedAt = rules.clock.monotonic();
  const verified = await verifyWith(await rules.keys.get(), token, rules);
  if (verified !== unknownKey) return verified;
  const renewed = await rules.keys.renew(presentedAt);
  return renewed === undefined ? unknownKey : await verifyWith(renewed, token, rules);
}

const unknownKey: RefusedToken = { refused: 'unknown key' };

async function verifyWith(
  keys: JWTVerifyGetKey,
  token: string,
  { issuer, audience, required, types, clock }: ClaimRules,
): Promise<VerifiedClaims | RefusedToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms: [...issuer.algorithms],
      issuer: issuer.issuer,
      audience,
      requiredClaims: [...required],
      clockTolerance,
      currentDate: new Date(clock.now()),
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !types.has(typ.toLowerCase())) return { refused: 'wrong type' };
    const { exp } = payload;
    if (exp === undefined) return { refused: 'missing claim' };
    return { claims: payload, expiresAt: Math.min(Math.ceil((exp + clockTolerance) * 1000), Number.MAX_SAFE_INTEGER) };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return unknownKey;
    const fault = tokenFault(error);
    if (fault === undefined) throw error;
    return fault;
  }
}
