import { hash, randomBytes } from 'node:crypto';

/**
 * Makes the function that turns a header or token into its cache key. Equal texts have equal keys within this process only, and a
 * key reveals nothing of its text.
 */
export function createCacheKey(): (text: string) => string {
  // A secret prefix of fixed length is enough, because no digest leaves the process. It costs a fifth of an HMAC on each call.
  const secret = randomBytes(32).toString('base64url');
  return (text) => hash('sha256', secret + text, 'base64url');
}

/**
 * A bounded cache of verified credentials by cache key. When it is full, it drops the oldest entry that was not read since it was
 * last examined (second-chance algorithm). So a read moves no entry.
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
      // Moves a read entry to the end, to examine it again later.
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
