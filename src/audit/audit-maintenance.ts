import { open } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { beatInterval } from '#base/store-steadiness.ts';
import { systemCode } from '#base/system-code.ts';
import { every } from '#base/timing/every.ts';
import type { Database } from '#database/database.ts';
import type { LostEntries } from './audit-entry.ts';
import type { AuditStore } from './audit-store.ts';
import type { KeptBodies } from './bodies/kept-bodies.ts';
import type { AuditKey } from './chain/audit-key.ts';
import type { ChainWriter } from './chain/chain-writer.ts';
import { checkpointLine, lossLine } from './chain/checkpoint.ts';
import type { KeptReplies } from './idempotency/idempotency-keys.ts';
import { forgetKeys } from './idempotency/idempotency-store.ts';
import type { RepeatedRefusals } from './repeated-refusals.ts';

/** Milliseconds. */
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
  /** As the writer's, and marks what the store lost. */
  readonly beat: () => Promise<void>;
  readonly replies: KeptReplies;
  readonly bodies: Pick<KeptBodies, 'measure'>;
  readonly refusals: RepeatedRefusals;
  readonly prune: (isStopping: () => boolean) => Promise<void>;
}

interface Maintenance {
  /** Writes a checkpoint, if there are entries since the last one. */
  checkpoint(): Promise<void>;
  /** Writes to where checkpoints go what the store lost. Never rejects. */
  tell(key: AuditKey, lost: LostEntries): Promise<void>;
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
  const { database, clock, chain, store, writer, replies, bodies, refusals, prune } = options;
  const { checkpoint, tell } = createCheckpoints(options);
  let stopping = false;
  let isFirst = true;
  // The store logs its own failures; the next run tries again.
  const tryAgain = (): void => {};
  const timers = [
    every(beatInterval, options.beat, tryAgain, { overlaps: true }),
    every(checkpointInterval, checkpoint, tryAgain),
    every(countingInterval, async () => refusals.recordCounts(), tryAgain),
    every(pruningInterval, () => prune(() => stopping), tryAgain),
    every(pruningInterval, () => bodies.measure(), tryAgain),
    every(pruningInterval, () => forgetKeys(database, clock.now()).then(() => replies.measure()), tryAgain),
  ];
  return {
    checkpoint,
    tell,
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
function createCheckpoints({ log, config, chain, writer }: MaintenanceOptions): Pick<Maintenance, 'checkpoint' | 'tell'> {
  const sink = checkpointSink(config.checkpointFile, log);
  let checkpointed = 0;
  let last = Promise.resolve();
  const put = async (line: string): Promise<boolean> => {
    try {
      await sink(line);
      return true;
    } catch (error) {
      log.error('a checkpoint of the audit log could not be written; the gateway tries again', {
        reason: systemCode(error) ?? 'unknown',
        file: config.checkpointFile,
      });
      return false;
    }
  };
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
    if (await put(checkpointLine(state.key, chain, state.head))) checkpointed = state.head.seq;
  };
  return {
    checkpoint: () => (last = last.then(write)),
    tell: (key, lost) => (last = last.then(async () => void (await put(lossLine(key, lost))))),
  };
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
