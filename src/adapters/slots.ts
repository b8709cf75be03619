import { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';

/** The bulkhead of one node: it limits the calls in flight, and the calls that wait in order. Further calls are refused. */
export interface Slots {
  /**
   * Resolves with a function that releases the slot; call it once. Returns it without a promise if a slot is free. Throws or
   * rejects with `adapter-busy` if the queue is full or the total time limit passes, or with the scope's reason if the caller
   * leaves.
   */
  take(scope: CallScope): Promise<() => void> | (() => void);
  /** Calls with a slot, and calls that wait for one. */
  readonly inFlight: number;
  readonly waiting: number;
}

export function createSlots(options: { readonly name: string; readonly concurrency: number; readonly queue: number }): Slots {
  const { name, concurrency, queue } = options;
  let inFlight = 0;
  const waiting = new Set<(release: () => void) => void>();

  const newSlot = (): (() => void) => {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const [next] = waiting;
      if (next === undefined) {
        inFlight -= 1;
        return;
      }
      waiting.delete(next);
      next(newSlot());
    };
  };

  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting.size;
    },
    take(scope) {
      if (inFlight < concurrency) {
        inFlight += 1;
        return newSlot();
      }
      if (waiting.size >= queue) throw busy(name, `its limits are reached (concurrency ${concurrency}, queue ${queue})`);
      return new Promise((resolve, reject) => {
        const next = (release: () => void): void => {
          scope.whenAborted(undefined);
          resolve(release);
        };
        waiting.add(next);
        scope.whenAborted((reason) => {
          waiting.delete(next);
          reject(reason instanceof GatewayError ? busy(name, 'the call waited for its whole time limit') : reason);
        });
      });
    },
  };
}

function busy(name: string, reason: string): GatewayError {
  return new GatewayError(
    'adapter-busy',
    `The adapter instance "${name}" has no room for the call: ${reason}. Try again later.`,
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
