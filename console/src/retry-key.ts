import { useRef } from 'preact/hooks';
import { randomKey } from './random-key.ts';

/**
 * Sends what starts something, with an Idempotency-Key. The same content keeps its key until it has succeeded: a click after a lost reply
 * starts nothing twice.
 */
export function useRetryKey(): <T>(content: string, send: (idempotencyKey: string) => Promise<T>) => Promise<T> {
  const failed = useRef<{ readonly content: string; readonly key: string } | undefined>(undefined);
  return async (content, send) => {
    const key = failed.current?.content === content ? failed.current.key : randomKey();
    failed.current = { content, key };
    const result = await send(key);
    failed.current = undefined;
    return result;
  };
}
