import { hash, randomBytes } from 'node:crypto';

/**
 * A function that turns a header or token into the key it is cached under: the same text gives the same key within this process
 * only, and the key shows nothing of the text.
 */
export function createCacheKey(): (text: string) => string {
  // A secret prefix of fixed length: enough where nobody ever sees a digest, and a fifth of what HMAC costs on each call.
  const secret = randomBytes(32).toString('base64url');
  return (text) => hash('sha256', secret + text, 'base64url');
}

/**
 * What was verified, by the key of what was sent. Bounded: of those that were not asked for since the last look at them the oldest goes
 * first (second chance), so that asking moves nothing.
 */
interface VerifiedCache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  deleteWhere(matches: (value: T) => boolean): void;
  clear(): void;
}

export function createVerifiedCache<T>({ entries }: { readonly entries: number }): VerifiedCache<T> {
  const kept = new Map<string, { readonly value: T; asked: boolean }>();
  const makeRoom = (): void => {
    for (const [key, entry] of kept) {
      if (kept.size < entries) return;
      kept.delete(key);
      // To the end, where it is come by again.
      if (entry.asked) kept.set(key, { value: entry.value, asked: false });
    }
  };
  return {
    get(key) {
      const entry = kept.get(key);
      if (entry === undefined) return undefined;
      entry.asked = true;
      return entry.value;
    },
    set(key, value) {
      kept.delete(key);
      makeRoom();
      kept.set(key, { value, asked: false });
    },
    delete: (key) => void kept.delete(key),
    deleteWhere(matches) {
      for (const [key, { value }] of kept) if (matches(value)) kept.delete(key);
    },
    clear: () => kept.clear(),
  };
}
