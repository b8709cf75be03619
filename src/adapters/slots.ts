import { GatewayError } from '#base/gateway-error.ts';
import type { CallScope } from '#outbound/call-scope.ts';

/** The bulkhead of one node: so many calls in flight, so many waiting in order, the rest refused. */
export interface Slots {
  /**
   * Resolves when the call may go; the caller gives the slot back by calling the result once. Rejects with `adapter-busy`
   * where the queue is full or the total time limit ends the wait, with the scope's reason where the caller leaves.
   */
  take(scope: CallScope): Promise<() => void> | (() => void);
  /** Calls that have a slot, and calls that wait for one. */
  readonly inFlight: number;
  readonly waiting: number;
}

export function createSlots(options: { readonly name: string; readonly concurrency: number; readonly queue: number }): Slots {
  const { name, concurrency, queue } = options;
  let inFlight = 0;
  const waiting = new Set<(release: () => void) => void>();

  const handOut = (): (() => void) => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = waiting;
      if (next === undefined) {
        inFlight -= 1;
        return;
      }
      waiting.delete(next);
      next(handOut());
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
        return handOut();
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
