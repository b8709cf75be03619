import type { Database } from '#database/database.ts';
import { sizeOfKeys } from './idempotency-store.ts';

/** The replies that are kept for Idempotency-Keys: how much room they take, and whether there is room for another one. */
export interface KeptReplies {
  /** Bytes of all keys and replies. */
  size(): number;
  /** `length`: characters of the sealed reply. If true, the reply counts as kept. */
  take(length: number): boolean;
  /** Measures the store, because other gateways write too and old keys are deleted. Rejects as the store does. */
  measure(): Promise<void>;
}

/** Of `maxSize`, for the keys and replies. */
const share = 4;

export function createKeptReplies(options: {
  readonly database: Database;
  /** Bytes of the whole audit log. */
  readonly maxSize: number;
  /** The disk of the store has no room for replies. */
  readonly isShort: () => boolean;
}): KeptReplies {
  const { database, maxSize, isShort } = options;
  let size = 0;
  return {
    size: () => size,
    take(length) {
      if (isShort() || size + length > maxSize / share) return false;
      size += length;
      return true;
    },
    async measure() {
      size = await sizeOfKeys(database.read);
    },
  };
}
