import type { BatchState, StoredBatch } from '../../journal/batches/batch-records.ts';

/** What is to happen with a batch. `waits`: for its runs. `undecided`: for people alone. */
type BatchPlan =
  | { readonly kind: 'begin'; readonly items: number }
  | { readonly kind: 'waits' | 'undecided' }
  | { readonly kind: 'ends'; readonly state: Extract<BatchState, 'completed' | 'faulted' | 'cancelled'> };

interface Circumstances {
  /** Runs at once, in force. */
  readonly parallel: number;
  /** The run is suspended: nothing begins. */
  readonly isSuspended: boolean;
  /** A time limit passed: nothing begins, and the batch ends without a result. */
  readonly isAborted: boolean;
}

/** What follows from the counts alone, so that each gateway decides the same. */
export function planOf(batch: StoredBatch, { parallel, isSuspended, isAborted }: Circumstances): BatchPlan {
  const left = isAborted || stops(batch) ? 0 : leftOf(batch);
  const room = isSuspended ? 0 : Math.min(left, parallel - batch.open);
  if (room > 0) return { kind: 'begin', items: room };
  if (batch.open > 0 || left > 0) return { kind: 'waits' };
  if (batch.unknown > 0) return { kind: 'undecided' };
  return { kind: 'ends', state: isAborted ? 'cancelled' : endOf(batch) };
}

function endOf(batch: StoredBatch): 'completed' | 'faulted' {
  const isFaulty = hasFailedCanary(batch) || (batch.failures === 'fault' && batch.failed > 0);
  return isFaulty ? 'faulted' : 'completed';
}

/** No other item begins. Once it is so, it stays so. */
export function stops(batch: StoredBatch): boolean {
  const { state, stopAfter = Infinity, failed, unknown } = batch;
  return state === 'stopping' || hasFailedCanary(batch) || failed + unknown >= stopAfter;
}

/** Items that may begin now, if there is room: those of the canary before all others, which wait until it is complete. */
function leftOf({ total, notStarted, completed, canary }: StoredBatch): number {
  const begun = total - notStarted;
  if (begun < canary) return Math.min(canary, total) - begun;
  return begun === canary && completed < canary ? 0 : notStarted;
}

/** Only items of the canary have begun, and one of them has ended without being complete. */
export function hasFailedCanary({ total, notStarted, failed, cancelled, canary }: StoredBatch): boolean {
  return total - notStarted <= canary && failed + cancelled > 0;
}
