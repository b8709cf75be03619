import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import type { Log } from '#base/log.ts';

/** Gets a document of an issuer; the composition root hands in outbound's sender. Rejects or answers any status. */
export type FetchDocument = (url: string) => Promise<{ readonly status: number; readonly body: string }>;

const minute = 60_000;
/** Keys are fetched again after this, or earlier for a key id that is not among them. */
const freshFor = 10 * minute;
/** An issuer that does not answer does not take its callers down with it at once. */
const usableFor = 60 * minute;
/** A made-up key id sends us to the issuer this often at most. */
const unknownKeyInterval = 30_000;
const retryAfterFailure = 5_000;
const fetchLimit = 10_000;
/** Callers wait this long for fresh keys where there are usable ones. */
const patience = 1_000;
const documentLengthAtMost = 1_048_576;

/** An issuer's signing keys, found by OpenID Connect Discovery. */
export interface IssuerKeys {
  /** The keys as far as they are known. Rejects with 503 where there are none to be had. */
  get(): Promise<JWTVerifyGetKey>;
  /**
   * Fetches again, for a key id that is not known. `undefined` where that was done a moment ago. Rejects with 503 where it fails, or did a moment
   * ago: the key may be one that the issuer has published since.
   */
  renewed(): Promise<JWTVerifyGetKey | undefined>;
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
  let underWay: Promise<boolean> | undefined;

  const age = (): number => (fetched === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - fetched.at);

  /** Resolves to whether there are new keys now. */
  const renew = async (): Promise<boolean> => {
    tried = clock.monotonic();
    try {
      fetched = { keys: await fetchKeys(issuer, fetchDocument), at: clock.monotonic() };
      failed = false;
      return true;
    } catch (error) {
      failed = true;
      log.warn('the keys of an OIDC issuer cannot be had', {
        address: issuer,
        reason: error instanceof KeysUnusable ? error.message : 'no answer',
      });
      return false;
    } finally {
      underWay = undefined;
    }
  };
  const renewOnce = (): Promise<boolean> => (underWay ??= renew());

  return {
    async get() {
      const mayTry = underWay !== undefined || clock.monotonic() - tried >= retryAfterFailure;
      if (age() >= freshFor && mayTry) {
        const renewed = renewOnce();
        await (age() >= usableFor ? renewed : inTime(renewed, patience, () => false));
      }
      if (fetched === undefined || age() >= usableFor) throw keysUnavailable();
      return fetched.keys;
    },
    async renewed() {
      const interval = failed ? retryAfterFailure : unknownKeyInterval;
      const mayTry = underWay !== undefined || clock.monotonic() - tried >= interval;
      const renewed = mayTry && (await renewOnce());
      if (failed) throw keysUnavailable();
      return renewed ? fetched?.keys : undefined;
    },
  };
}

/** What the issuer published is not usable; the message holds no data of it. */
class KeysUnusable extends Error {}

async function fetchKeys(issuer: string, fetchDocument: FetchDocument): Promise<JWTVerifyGetKey> {
  const discovery = await fetchJson(`${issuer.replace(/\/$/u, '')}/.well-known/openid-configuration`, fetchDocument);
  // OpenID Connect Discovery 4.3: a document of another issuer may not speak for this one.
  if (discovery['issuer'] !== issuer) throw new KeysUnusable('its discovery document names another issuer');
  const address = discovery['jwks_uri'];
  if (typeof address !== 'string' || !URL.canParse(address)) throw new KeysUnusable('its discovery document has no jwks_uri');
  const { protocol } = new URL(address);
  // An issuer reached over TLS may not have its keys fetched in the clear, where anyone on the way can replace them.
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
    throw new KeysUnusable('its document is no JSON');
  }
  if (typeof value !== 'object' || value === null) throw new KeysUnusable('its document is no JSON object');
  return value as Readonly<Record<string, unknown>>;
}

/**
 * 503 and not 401: the token may well be good, and a client that is told otherwise throws it away. The table has no code for an
 * issuer; `store-unavailable` is the one that says "the gateway cannot judge this now".
 */
function keysUnavailable(): GatewayError {
  return new GatewayError('store-unavailable', "The keys of the token's issuer cannot be had right now: try again later.", {
    headers: { 'Retry-After': '5' },
  });
}
