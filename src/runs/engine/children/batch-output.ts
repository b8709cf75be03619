import type { OutsideResult } from '../../interpreter/state/run-events.ts';
import { standardError } from '../../interpreter/task-error.ts';
import type { ItemCounts, StoredBatch, StoredItem } from '../../journal/batches/batch-records.ts';
import type { RunTools } from '../run-tools.ts';
import { hasFailedCanary } from './batch-plan.ts';

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
