import { open } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import { systemCode } from '#base/system-code.ts';
import type { Database } from '#database/database.ts';
import type { LostEntries } from './audit-entry.ts';
import { chainsAlive } from './audit-reading-store.ts';
import { createAuditStore, storedAuditKey } from './audit-store.ts';
import type { AuditKey } from './chain/audit-key.ts';
import { absences, type Checkpoint, isGenuine, isWithin, readWitness, type Witness } from './chain/checkpoint.ts';

/** Bytes at the end of the file: a checkpoint for each of some thousand minutes. */
const examined = 1_048_576;

/** Milliseconds by which the clocks of gateways may differ. */
const clockSkew = 60_000;

interface CheckpointedLosses {
  readonly key: AuditKey;
  readonly losses: readonly LostEntries[];
  /** The store has later records than the missing ones, which a loss of commits takes as well: somebody deleted these. */
  readonly deleted: readonly string[];
}

/**
 * What the store lost of earlier gateways, as far as the checkpoints of the file show it and no gateway told of it. What was written after the
 * last checkpoint stays unseen. `before`: when this gateway began, in milliseconds since the epoch. Rejects where the file cannot be read; a file
 * that does not exist yet has no checkpoints.
 */
export async function checkpointedLosses(
  database: Database,
  file: string,
  before: number,
): Promise<CheckpointedLosses | undefined> {
  const key = await storedAuditKey(database.read);
  if (key === undefined) return undefined;
  const { told, found } = await absences(database, key, lastOfEach(key, await endOf(file)));
  const losses: LostEntries[] = [];
  const deleted: string[] = [];
  for (const checkpoint of found.flatMap(({ absent }) => absent ?? [])) {
    const { chain, seq: to } = checkpoint;
    if (told.some((lost) => isWithin(lost, checkpoint))) continue;
    const from = await createAuditStore(database).missingFrom(chain, checkpoint);
    if (from === undefined) continue;
    if (await mayBeLost(database, checkpoint, before)) losses.push({ chain, from, to, records: to - from + 1 });
    else deleted.push(`${chain}/${from} to ${chain}/${to}`);
  }
  return { key, losses, deleted };
}

/** The last checkpoint of each chain, and what gateways said that the store lost. */
function lastOfEach(key: AuditKey, witnesses: readonly Witness[]): readonly Witness[] {
  const last = new Map<string, Checkpoint>();
  for (const witness of witnesses)
    if (!('lost' in witness) && isGenuine(key, witness) && witness.seq >= (last.get(witness.chain)?.seq ?? 0))
      last.set(witness.chain, witness);
  return [...witnesses.filter((witness) => 'lost' in witness), ...last.values()];
}

/** A loss takes the last commits of all gateways. Later ones are there only where a gateway went on after it, and marked it. */
async function mayBeLost({ read }: Database, { at }: Checkpoint, before: number): Promise<boolean> {
  const later = read
    .selectFrom('audit_entry')
    .select('seq')
    .where('at', '>', at + clockSkew)
    .where('at', '<', before);
  if ((await later.limit(1).executeTakeFirst()) === undefined) return true;
  const marked = read
    .selectFrom('store_loss')
    .select('at')
    .where('at', '>=', at - clockSkew)
    .limit(1);
  return (await marked.executeTakeFirst()) !== undefined;
}

async function endOf(file: string): Promise<readonly Witness[]> {
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const start = Math.max(0, size - examined);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
      return lines.map(readWitness).filter((witness) => witness !== undefined);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** What a store lost that was restored from a backup and that no gateway has marked yet. */
interface RestoredLosses {
  readonly key: AuditKey;
  readonly losses: readonly LostEntries[];
  /** Call it once the losses are marked. */
  settle(): Promise<void>;
}

/**
 * The store has nothing of what came after its backup, not even how much that was. So each loss names the entry after the last one, with
 * `records: 0`. Every gateway that looks finds the same losses. Undefined: the store was not restored.
 */
export async function restoredLosses({ read, records }: Pick<Database, 'read' | 'records'>): Promise<RestoredLosses | undefined> {
  const restores = await read.selectFrom('store_restore').select('at').execute();
  const last = Math.max(...restores.map(({ at }) => at));
  const key = await storedAuditKey(read);
  if (restores.length === 0 || key === undefined) return undefined;
  const newest = await read
    .selectFrom('audit_entry')
    .select(['chain', 'seq'])
    .where('at', '<=', last)
    .orderBy('at', 'desc')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    key,
    losses: newest === undefined ? [] : [{ chain: newest.chain, from: newest.seq + 1, to: newest.seq + 1, records: 0 }],
    async settle() {
      await records.deleteFrom('store_restore').where('at', '<=', last).execute();
    },
  };
}

/** Whether every gateway has looked, since the last outage of the store, for commits that the store lost. */
export interface AfterOutage {
  /** The store was away, or another server may be the store now. */
  outage(): void;
  /**
   * True where no gateway that was alive before the outage is missing. Each looks before it counts as alive again. One that does not come back
   * within ten seconds counts as ended. Rejects where the store is away.
   */
  haveAllLooked(): Promise<boolean>;
}

/** Milliseconds. A gateway that was alive so long before an outage may have runs in flight. */
const aliveBefore = 30_000;
const patience = 10_000;

/** `check`: looks whether the store has what this gateway wrote, marks a loss, and says that it is alive. */
export function createAfterOutage({
  database,
  clock,
  check,
}: {
  readonly database: Pick<Database, 'read'>;
  readonly clock: Clock;
  readonly check: () => Promise<void>;
}): AfterOutage {
  let open: { readonly since: number; missing?: ReadonlyMap<string, number>; until?: number } | undefined;
  return {
    outage() {
      const since = open?.since ?? clock.now() - aliveBefore;
      open = { since };
      // The other gateways wait for this one.
      void check().catch(() => {});
    },
    async haveAllLooked() {
      const outage = open;
      if (outage === undefined) return true;
      outage.missing ??= await chainsAlive(database, outage.since);
      outage.until ??= clock.monotonic() + patience;
      await check();
      const now = await chainsAlive(database, outage.since);
      const missing = [...outage.missing].filter(([chain, until]) => (now.get(chain) ?? Infinity) <= until);
      if (missing.length > 0 && clock.monotonic() < outage.until) return false;
      if (open === outage) open = undefined;
      return open === undefined;
    },
  };
}
