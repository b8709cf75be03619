import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Clock } from '#base/clock.ts';
import type { SigningKeyStore, StoredKey } from './signing-key-store.ts';

/** Ed25519 (RFC 8037): small, fast to verify, and without parameters to choose wrongly. */
export const signingAlgorithm = 'EdDSA';

const day = 86_400_000;
const signsFor = 30 * day;

/** Milliseconds between two reads for unknown key ids, which attackers can make up. */
const reloadInterval = 1_000;

interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

export type SigningKeys = Awaited<ReturnType<typeof createSigningKeys>>;

/**
 * Of all gateways on this store. One key signs. Older keys verify, until every token that they signed has expired. Rejects with 503 if
 * the store is away.
 */
export async function createSigningKeys({ store, clock }: { readonly store: SigningKeyStore; readonly clock: Clock }) {
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

  let inProgress: Promise<StoredKey | undefined> | undefined;
  const load = (): Promise<StoredKey | undefined> =>
    (inProgress ??= read().finally(() => {
      inProgress = undefined;
    }));

  const ensureCurrent = async (): Promise<void> => {
    const newest = await load();
    const tooOld = clock.now() - signsFor;
    if (newest !== undefined && newest.createdAt > tooOld) return;
    await store.replace(await makeKey(clock.now()), tooOld);
    // A load that began before may not have read the new key.
    await inProgress;
    await load();
  };

  await ensureCurrent();
  return {
    current(): SigningKey {
      if (signing === undefined) throw new Error('There is no signing key.');
      return signing;
    },
    /** `kid` is compared only for equality. Reads the store for an unknown id: another gateway may have made the key. */
    async find(kid: string): Promise<CryptoKey | undefined> {
      const mayLoad = inProgress !== undefined || clock.monotonic() - lastLoad >= reloadInterval;
      if (!verifying.has(kid) && mayLoad) await load();
      return verifying.get(kid);
    },
    /**
     * Loads keys of other gateways, replaces a signing key older than 30 days (its tokens remain valid), and deletes keys that no token
     * needs. `maxTokenLifetime`: milliseconds.
     */
    async maintain(maxTokenLifetime: number): Promise<void> {
      await ensureCurrent();
      await store.purge(clock.now() - Math.max(maxTokenLifetime, signsFor));
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
