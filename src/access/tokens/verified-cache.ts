import { hash, randomBytes } from 'node:crypto';

/** Equal texts have equal keys within this process only, and a key reveals nothing of its text. */
export function createCacheKey(): (text: string) => string {
  // A secret prefix is enough, because no digest leaves the process, and costs a fifth of an HMAC.
  const secret = randomBytes(32).toString('base64url');
  return (text) => hash('sha256', secret + text, 'base64url');
}

/**
 * Bounded. When full, it drops the oldest entry that was not read since it was last examined (second-chance algorithm), so a read moves no
 * entry.
 */
export function createVerifiedCache<T>({ entries }: { readonly entries: number }) {
  const kept = new Map<string, { readonly value: T; wasRead: boolean }>();
  return {
    get(key: string): T | undefined {
      const entry = kept.get(key);
      if (entry !== undefined) entry.wasRead = true;
      return entry?.value;
    },
    set(key: string, value: T): void {
      kept.delete(key);
      for (const [oldest, { value: old, wasRead }] of kept) {
        if (kept.size < entries) break;
        kept.delete(oldest);
        // Examined again later.
        if (wasRead) kept.set(oldest, { value: old, wasRead: false });
      }
      kept.set(key, { value, wasRead: false });
    },
    delete: (key: string) => void kept.delete(key),
    deleteWhere(matches: (value: T) => boolean): void {
      for (const [key, { value }] of kept) if (matches(value)) kept.delete(key);
    },
    clear: () => kept.clear(),
  };
}
