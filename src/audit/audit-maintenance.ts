import { open } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import type { Database } from '#database/database.ts';
import type { AuditStore } from './audit-store.ts';
import type { ChainWriter } from './chain-writer.ts';
import { checkpointLine } from './checkpoint.ts';
import { forgetKeys } from './idempotency-store.ts';
import type { KeptReplies } from './kept-replies.ts';
import type { RepeatedRefusals } from './repeated-refusals.ts';

/** Milliseconds. `beatInterval` is far shorter than the time for which a chain counts as alive. */
const beatInterval = 3_000;
const checkpointInterval = 60_000;
const pruningInterval = 60_000;
const countingInterval = 5_000;

interface MaintenanceOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: { readonly checkpointFile?: string };
  readonly chain: string;
  readonly store: AuditStore;
  readonly writer: ChainWriter;
  readonly replies: KeptReplies;
  readonly refusals: RepeatedRefusals;
  readonly prune: (isStopping: () => boolean) => Promise<void>;
}

interface Maintenance {
  /** Writes a checkpoint, if there are entries since the last one. */
  checkpoint(): Promise<void>;
  /** To be called after each batch. The first one gets a checkpoint at once. */
  written(): void;
  stop(): Promise<void>;
  /**
   * `ended`: the last entry of the chain records the end. Without that entry, a chain marked as ended would look like one that
   * was tampered with.
   */
  end(ended: boolean): Promise<void>;
}

/** Periodic work: updates of the chain, checkpoints, counts of refusals, pruning. After a failure, the next run tries again. */
export function createMaintenance(options: MaintenanceOptions): Maintenance {
  const { database, clock, chain, store, writer, replies, refusals, prune } = options;
  const checkpoint = createCheckpoints(options);
  let stopping = false;
  let isFirst = true;
  // The store logs its own failures; the next run tries again.
  const tryAgain = (): void => {};
  const timers = [
    every(beatInterval, () => writer.beat(), tryAgain),
    every(checkpointInterval, checkpoint, tryAgain),
    every(countingInterval, async () => refusals.recordCounts(), tryAgain),
    every(pruningInterval, () => prune(() => stopping), tryAgain),
    every(pruningInterval, () => forgetKeys(database, clock.now()).then(() => replies.measure()), tryAgain),
  ];
  return {
    checkpoint,
    written() {
      if (isFirst) void checkpoint();
      isFirst = false;
    },
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(timers.map((timer) => timer.stop()));
    },
    async end(ended: boolean): Promise<void> {
      await checkpoint();
      const state = writer.state();
      if (ended && state !== undefined) await store.end(chain, state.head.at).catch(() => {});
    },
  };
}

/** Checkpoints are written one after the other. The promise never rejects. */
function createCheckpoints({ log, config, chain, writer }: MaintenanceOptions): () => Promise<void> {
  const sink = checkpointSink(config.checkpointFile, log);
  let checkpointed = 0;
  let last = Promise.resolve();
  const write = async (): Promise<void> => {
    const state = writer.state();
    if (state === undefined || state.head.seq === checkpointed) return;
    // All entries up to the checkpoint must be on the disk first. Otherwise a power failure could remove them, which would look
    // like tampering.
    try {
      await writer.beat();
    } catch {
      return;
    }
    try {
      await sink(checkpointLine(state.key, chain, state.head));
      checkpointed = state.head.seq;
    } catch (error) {
      log.error('a checkpoint of the audit log could not be written; the gateway tries again', {
        reason: systemCode(error) ?? 'unknown',
        file: config.checkpointFile,
      });
    }
  };
  return () => (last = last.then(write));
}

/**
 * Where checkpoints are written: the log, at any level, or a file (mode 0600). The promise resolves when the line is on the disk
 * of the file.
 */
function checkpointSink(file: string | undefined, log: Log): (line: string) => Promise<void> {
  if (file === undefined) return async (checkpoint) => log.always('audit checkpoint', { checkpoint });
  return async (line) => {
    const handle = await open(file, 'a', 0o600);
    try {
      await handle.appendFile(`${line}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  };
}
