import type { OutsideResult } from '../../interpreter/state/run-events.ts';
import { standardError } from '../../interpreter/task-error.ts';
import type { BatchState, ItemCounts, StoredBatch, StoredItem } from '../../journal/batches/batch-records.ts';
import type { RunTools } from '../run-tools.ts';

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
function hasFailedCanary({ total, notStarted, failed, cancelled, canary }: StoredBatch): boolean {
  return total - notStarted <= canary && failed + cancelled > 0;
}

/** Bytes of the list of items in the output of a batch. */
const maxList = 4 * 1024 * 1024;
/** Bytes of an entry with nothing but names and numbers, apart from the id of its run. */
const shortEntry = 96;
const itemsAtOnce = 500;

/** What the task gets of a batch that has ended. */
export async function batchResult(batch: StoredBatch, tools: Pick<RunTools, 'items'>): Promise<OutsideResult> {
  if (batch.state === 'cancelled') return { kind: 'aborted' };
  if (batch.state === 'completed') return { kind: 'ok', output: await outputOf(batch, tools) };
  const reason = hasFailedCanary(batch) ? 'An item of the canary did not complete' : 'The batch has failed items';
  const { completed, failed, unknown, cancelled, notStarted } = batch;
  const counts = { completed, failed, unknown, cancelled, notStarted };
  const words = Object.entries(counts).map(([name, count]) => `${name}: ${count}`);
  return { kind: 'error', error: standardError('runtime', 'The batch failed', `${reason} (${words.join(', ')}).`) };
}

/** As JSON text, so that numbers keep their digits. */
async function outputOf(batch: StoredBatch, tools: Pick<RunTools, 'items'>): Promise<string> {
  const { run, activity, attempt, total, completed, failed, unknown, cancelled, notStarted } = batch;
  const counts: Omit<ItemCounts, 'total' | 'open'> = { completed, failed, unknown, cancelled, notStarted };
  const entries: string[] = [];
  // Each entry has its place, before any of them has its texts.
  let room = maxList - total * (run.length + shortEntry);
  for (let after = -1; ; ) {
    const page = await tools.items({ run, activity, attempt }, { limit: itemsAtOnce, after });
    for (const item of page) {
      const texts = textsOf(item);
      room -= Buffer.byteLength(texts);
      entries.push(`{${headOf(item)}${room < 0 ? ',"truncated":true' : texts}}`);
      if (room < 0) room += Buffer.byteLength(texts);
    }
    after = page.at(-1)?.index ?? after;
    if (page.length < itemsAtOnce) break;
  }
  return `{"list":[${entries.join(',')}],${JSON.stringify(counts).slice(1)}`;
}

function headOf({ index, run, status }: StoredItem): string {
  return JSON.stringify({ index, run, status }).slice(1, -1);
}

function textsOf({ value, output, error, isCut }: StoredItem): string {
  const ofEnd = output === undefined ? (error === undefined ? '' : `,"error":${error}`) : `,"output":${output}`;
  return `,"item":${value}${ofEnd}${isCut ? ',"truncated":true' : ''}`;
}
