import { entryOverhead, type PruningRound } from './audit-pruning.ts';
import type { ChainWriter } from './chain/chain-writer.ts';

/** Bytes that are written before the log is measured again: other gateways write too. */
const measuredEvery = 1_048_576;
/** Rounds of pruning that one batch waits for. A round deletes twice the entries of a batch, but these may be smaller. */
const maxRounds = 8;
/** Milliseconds until the next try where nothing could be deleted, because every old call is in progress. */
const pause = 1_000;

/** Keeps the log within `maxSize` bytes while it is written: a batch above it waits until older entries are deleted. */
export function withinSize(
  writer: ChainWriter,
  options: { readonly maxSize: number; readonly round: () => Promise<PruningRound>; readonly monotonic: () => number },
): ChainWriter {
  const { maxSize, round, monotonic } = options;
  const step = Math.min(measuredEvery, maxSize / 16);
  // The log is measured before the first batch.
  let written = step;
  let pausedUntil = 0;
  const makeRoom = async (): Promise<void> => {
    for (let rounds = 0; rounds < maxRounds; rounds += 1) {
      const { size, deleted } = await round();
      if (size <= maxSize) {
        written = 0;
        return;
      }
      if (deleted > 0) continue;
      pausedUntil = monotonic() + pause;
      return;
    }
  };
  return {
    ...writer,
    async append(entries, durability, companion) {
      // Where the store fails, the batch fails too, and says why.
      if (written >= step && monotonic() >= pausedUntil) await makeRoom().catch(() => {});
      await writer.append(entries, durability, companion);
      for (const { facts } of entries) written += facts.length + entryOverhead;
    },
  };
}
