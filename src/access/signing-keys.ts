import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { SigningKeyStore, StoredKey } from './signing-key-store.ts';

/** Ed25519 (RFC 8037): small, quick to verify, and no choice of parameters to get wrong. */
export const signingAlgorithm = 'EdDSA';

const day = 86_400_000;
const signsFor = 30 * day;

/** Unknown key ids send a gateway to the store at most this often, whoever makes them up. */
const reloadInterval = 1_000;

interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

/** The keys of all gateways on this store. One signs; those before it verify until no token of theirs can be left. */
export interface SigningKeys {
  current(): SigningKey;
  /** The public key of that id, looked up by equality alone; asks the store where another gateway may have made it. */
  find(kid: string): Promise<CryptoKey | undefined>;
  /** Takes over what other gateways did, replaces a key older than 30 days (its tokens stay valid), deletes what no token needs. */
  maintain(longestToken: number): Promise<void>;
}

/** Makes the first key where there is none. Rejects with 503 where the store is away. */
export async function createSigningKeys({
  store,
  clock,
}: {
  readonly store: SigningKeyStore;
  readonly clock: Clock;
}): Promise<SigningKeys> {
  let signing: SigningKey | undefined;
  let verifying = new Map<string, CryptoKey>();
  let lastLoad = Number.NEGATIVE_INFINITY;

  const read = async (): Promise<StoredKey | undefined> => {
    lastLoad = clock.monotonic();
    const stored = await store.all();
    const loaded = new Map<string, CryptoKey>();
    for (const { kid, publicJwk } of stored) loaded.set(kid, verifying.get(kid) ?? (await importKey(publicJwk)));
    const newest = stored.find(({ retiredAt }) => retiredAt === null);
    if (newest !== undefined && newest.kid !== signing?.kid)
      signing = { kid: newest.kid, key: await importKey(newest.privateJwk) };
    verifying = loaded;
    return newest;
  };

  let underWay: Promise<StoredKey | undefined> | undefined;
  const load = (): Promise<StoredKey | undefined> => {
    underWay ??= read().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  const ensureCurrent = async (): Promise<void> => {
    const newest = await load();
    const tooOld = clock.now() - signsFor;
    if (newest !== undefined && newest.createdAt > tooOld) return;
    await store.replace(await makeKey(clock.now()), tooOld);
    // One that began before the replacement may have missed it.
    await underWay;
    await load();
  };

  await ensureCurrent();
  return {
    current() {
      if (signing === undefined) throw new Error('There is no signing key.');
      return signing;
    },
    async find(kid) {
      const mayLoad = underWay !== undefined || clock.monotonic() - lastLoad >= reloadInterval;
      if (!verifying.has(kid) && mayLoad) await load();
      return verifying.get(kid);
    },
    async maintain(longestToken) {
      await ensureCurrent();
      await store.purge(clock.now() - Math.max(longestToken, signsFor));
    },
  };
}

async function makeKey(now: number): Promise<StoredKey> {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { crv: 'Ed25519', extractable: true });
  const publicJwk = await exportJWK(publicKey);
  return {
    kid: await calculateJwkThumbprint(publicJwk),
    privateJwk: JSON.stringify(await exportJWK(privateKey)),
    publicJwk: JSON.stringify(publicJwk),
    createdAt: now,
    retiredAt: null,
  };
}

async function importKey(jwk: string): Promise<CryptoKey> {
  const key = await importJWK(JSON.parse(jwk) as JWK, signingAlgorithm);
  if (key instanceof Uint8Array) throw new Error('A signing key in the store is symmetric.');
  return key;
}
