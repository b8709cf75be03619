import { GatewayError } from '#base/gateway-error.ts';
import type { Semaphore } from '#base/semaphore.ts';
import type { CallScope } from '#outbound/call-scope.ts';

/**
 * Takes a slot of a node, the bulkhead that limits its calls in flight; returns no promise if one is free. Throws or rejects with
 * `adapter-busy` if the queue is full or the total time limit passes, or with the scope's reason if the caller leaves.
 */
export function takeSlot(
  slots: Semaphore,
  { name, queue }: { readonly name: string; readonly queue: number },
  scope: CallScope,
): Promise<void> | undefined {
  if (slots.tryAcquire()) return undefined;
  if (slots.waiting >= queue) throw busy(name, `its limits are reached (concurrency ${slots.atOnce}, queue ${queue})`);
  return slots.acquire({ scope }).catch((reason: unknown) => {
    throw reason instanceof GatewayError ? busy(name, 'the call waited for its whole time limit') : reason;
  });
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
