import type { JWTVerifyGetKey } from 'jose';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';
import { fetchIssuerDocuments, type IssuerDocuments, type IssuerFetch } from './oidc-discovery.ts';

const minute = 60_000;
/** Milliseconds after which keys are fetched again. A key id that is not among the keys has them fetched earlier. */
const freshFor = 10 * minute;
/** Milliseconds for which fetched keys remain usable while the issuer does not answer. */
const usableFor = 60 * minute;
/** At least this many milliseconds between two fetches for unknown key ids, which attackers can make up. */
const unknownKeyInterval = 30_000;
const retryAfterFailure = 5_000;
/** Milliseconds for which a caller waits for new keys while the old ones are usable. */
const refreshWait = 1_000;

/** The signing keys of an issuer and where it takes logins, found by OpenID Connect Discovery. */
export interface IssuerKeys {
  /** The keys fetched so far. Rejects with 503 if no keys are usable. */
  get(): Promise<JWTVerifyGetKey>;
  /** The discovery document that came with the keys. Rejects with 503 if there is none that is usable. */
  server(): Promise<AuthorizationServer>;
  /**
   * Fetches the keys again for a key id that is not among them. `presentedAt`: when the token was presented, in milliseconds of the
   * monotonic clock. Resolves with `undefined` if the keys were fetched since. Rejects with 503 if the fetch fails, or if it is too
   * early for one: the issuer may have published the key since the last.
   */
  renewed(presentedAt: number): Promise<JWTVerifyGetKey | undefined>;
}

interface IssuerKeysOptions {
  readonly issuer: string;
  readonly fetch: IssuerFetch;
  readonly clock: Clock;
  readonly log: Log;
}

interface Fetched extends IssuerDocuments {
  readonly at: number;
}

export function createIssuerKeys({ issuer, fetch, clock, log }: IssuerKeysOptions): IssuerKeys {
  let fetched: Fetched | undefined;
  let tried = Number.NEGATIVE_INFINITY;
  let failed = false;
  let inProgress: Promise<boolean> | undefined;

  const age = (): number => (fetched === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - fetched.at);

  /** Resolves with true if the fetch succeeded. */
  const renew = async (): Promise<boolean> => {
    tried = clock.monotonic();
    try {
      fetched = { ...(await fetchIssuerDocuments(issuer, fetch)), at: clock.monotonic() };
      failed = false;
      return true;
    } catch (error) {
      failed = true;
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

  const current = async (): Promise<Fetched> => {
    const mayTry = inProgress !== undefined || clock.monotonic() - tried >= retryAfterFailure;
    if (age() >= freshFor && mayTry) {
      const renewed = renewOnce();
      await (age() >= usableFor ? renewed : inTime(renewed, refreshWait, () => false));
    }
    if (fetched === undefined || age() >= usableFor) throw keysUnavailable();
    return fetched;
  };

  return {
    get: async () => (await current()).keys,
    server: async () => (await current()).server,
    async renewed(presentedAt) {
      if (!failed && fetched !== undefined && fetched.at >= presentedAt) return undefined;
      const wait = (failed ? retryAfterFailure : unknownKeyInterval) - (clock.monotonic() - tried);
      if (inProgress === undefined && wait > 0) throw failed ? keysUnavailable() : keyMayBeNew(wait);
      if (!(await renewOnce())) throw keysUnavailable();
      return fetched?.keys;
    },
  };
}

/** 503 and not 401: the token may be valid, and a client that gets a 401 discards its token. */
function keysUnavailable(): GatewayError {
  return unavailable("The gateway cannot get the keys of the token's issuer right now: try again later.", retryAfterFailure);
}

function keyMayBeNew(wait: number): GatewayError {
  return unavailable(
    "The token names a key that the gateway does not have yet, and it is too early to ask the token's issuer again: try again later.",
    wait,
  );
}

/** `wait` in milliseconds. */
function unavailable(message: string, wait: number): GatewayError {
  return new GatewayError('issuer-unavailable', message, { headers: { 'Retry-After': String(Math.ceil(wait / 1000)) } });
}
