import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';

/** Fetches a document of an issuer. `wiring/` passes in the sender of `outbound/`. Rejects, or resolves with any status. */
export type FetchDocument = (url: string) => Promise<{ readonly status: number; readonly body: string }>;

const minute = 60_000;
/** Milliseconds after which keys are fetched again. A key id that is not among the keys has them fetched earlier. */
const freshFor = 10 * minute;
/** Milliseconds for which fetched keys remain usable while the issuer does not answer. */
const usableFor = 60 * minute;
/** At least this many milliseconds between two fetches for unknown key ids, which attackers can make up. */
const unknownKeyInterval = 30_000;
const retryAfterFailure = 5_000;
const fetchLimit = 10_000;
/** Milliseconds for which a caller waits for new keys while the old ones are usable. */
const refreshWait = 1_000;
const documentLengthAtMost = 1_048_576;

/** The signing keys of an issuer, found by OpenID Connect Discovery. */
export interface IssuerKeys {
  /** The keys fetched so far. Rejects with 503 if no keys are usable. */
  get(): Promise<JWTVerifyGetKey>;
  /**
   * Fetches the keys again for a key id that is not among them. `presentedAt`: when the token was presented, in milliseconds of the
   * monotonic clock. Resolves with `undefined` if the keys were fetched since. Rejects with 503 if the fetch fails, or if it is too
   * early for one: the issuer may have published the key since the last.
   */
  renewed(presentedAt: number): Promise<JWTVerifyGetKey | undefined>;
}

interface IssuerKeysOptions {
  readonly issuer: string;
  readonly fetchDocument: FetchDocument;
  readonly clock: Clock;
  readonly log: Log;
}

interface Fetched {
  readonly keys: JWTVerifyGetKey;
  readonly at: number;
}

export function createIssuerKeys({ issuer, fetchDocument, clock, log }: IssuerKeysOptions): IssuerKeys {
  let fetched: Fetched | undefined;
  let tried = Number.NEGATIVE_INFINITY;
  let failed = false;
  let inProgress: Promise<boolean> | undefined;

  const age = (): number => (fetched === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - fetched.at);

  /** Resolves with true if the fetch succeeded. */
  const renew = async (): Promise<boolean> => {
    tried = clock.monotonic();
    try {
      fetched = { keys: await fetchKeys(issuer, fetchDocument), at: clock.monotonic() };
      failed = false;
      return true;
    } catch (error) {
      failed = true;
      log.warn('the keys of an OIDC issuer could not be fetched', {
        address: issuer,
        reason: error instanceof KeysUnusable ? error.message : 'no answer',
      });
      return false;
    } finally {
      inProgress = undefined;
    }
  };
  const renewOnce = (): Promise<boolean> => (inProgress ??= renew());

  return {
    async get() {
      const mayTry = inProgress !== undefined || clock.monotonic() - tried >= retryAfterFailure;
      if (age() >= freshFor && mayTry) {
        const renewed = renewOnce();
        await (age() >= usableFor ? renewed : inTime(renewed, refreshWait, () => false));
      }
      if (fetched === undefined || age() >= usableFor) throw keysUnavailable();
      return fetched.keys;
    },
    async renewed(presentedAt) {
      if (!failed && fetched !== undefined && fetched.at >= presentedAt) return undefined;
      const wait = (failed ? retryAfterFailure : unknownKeyInterval) - (clock.monotonic() - tried);
      if (inProgress === undefined && wait > 0) throw failed ? keysUnavailable() : keyMayBeNew(wait);
      if (!(await renewOnce())) throw keysUnavailable();
      return fetched?.keys;
    },
  };
}

/** The documents of the issuer are not usable. The message contains no data from them. */
class KeysUnusable extends Error {}

async function fetchKeys(issuer: string, fetchDocument: FetchDocument): Promise<JWTVerifyGetKey> {
  const discovery = await fetchJson(`${issuer.replace(/\/$/u, '')}/.well-known/openid-configuration`, fetchDocument);
  // The document of another issuer must not decide the keys of this one (OpenID Connect Discovery 1.0, section 4.3).
  if (discovery['issuer'] !== issuer) throw new KeysUnusable('its discovery document names another issuer');
  const address = discovery['jwks_uri'];
  if (typeof address !== 'string' || !URL.canParse(address)) throw new KeysUnusable('its discovery document has no jwks_uri');
  const { protocol } = new URL(address);
  // If the issuer has TLS, its keys must come over TLS too. Otherwise anyone on the path could replace them.
  if (protocol !== 'https:' && protocol !== new URL(issuer).protocol) throw new KeysUnusable('its jwks_uri is not https');
  const document = await fetchJson(address, fetchDocument);
  if (!Array.isArray(document['keys'])) throw new KeysUnusable('its key document has no keys');
  try {
    return createLocalJWKSet(document as unknown as JSONWebKeySet);
  } catch {
    throw new KeysUnusable('its key document is malformed');
  }
}

async function fetchJson(url: string, fetchDocument: FetchDocument): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await inTime(fetchDocument(url), fetchLimit, () => {
    throw new KeysUnusable('it did not answer in 10 s');
  });
  if (status !== 200) throw new KeysUnusable(`it answered with status ${status}`);
  if (body.length > documentLengthAtMost) throw new KeysUnusable('its document is over 1 MiB');
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new KeysUnusable('its document is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw new KeysUnusable('its document is not a JSON object');
  return value as Readonly<Record<string, unknown>>;
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
