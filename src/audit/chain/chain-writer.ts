import type { Clock } from '#base/clock.ts';
import type { StoreSteadiness } from '#base/store-steadiness.ts';
import type { ChainedEntry, ChainLink, LostEntries } from '../audit-entry.ts';
import { type AppendChanges, type AuditStore, type Durability, HeadMissing } from '../audit-store.ts';
import type { RecentCalls } from '../calls/recent-calls.ts';
import type { CompanionBatch } from '../companion.ts';
import { type CallKeyChange, IntentsRefused, KeysTaken } from '../idempotency/idempotent-request.ts';
import type { AuditKey } from './audit-key.ts';
import { type ChainHead, chained, emptyChain, type UnchainedEntry } from './hash-chain.ts';

/** Appends entries to one chain: all entries of a batch or none. */
export interface ChainWriter {
  /**
   * With them, in one transaction, goes what `companion` writes. Rejects if the store did not accept the entries, or did not answer: then call `recover` before the next `append`. After
   * IntentsRefused no `recover` is needed: nothing was written, and the other entries can be appended at once.
   */
  append(entries: readonly UnchainedEntry[], durability: Durability, companion?: CompanionBatch['write']): Promise<void>;
  /**
   * Makes sure that the chain exists, and reads its head. Where the store does not have what it acknowledged, marks the loss first. Resolves
   * with whether the store has the last batch that `append` rejected.
   */
  recover(): Promise<{ readonly lastBatchWasWritten: boolean }>;
  /**
   * Records that the gateway runs. When it resolves, all earlier entries are on the disk. Rejects with HeadMissing where the store lost some:
   * `recover` marks that.
   */
  beat(): Promise<void>;
  /** What a checkpoint consists of; undefined until the chain has begun. */
  state(): { readonly key: AuditKey; readonly head: ChainHead } | undefined;
}

export interface ChainWriterOptions {
  readonly store: AuditStore;
  readonly clock: Clock;
  readonly chain: string;
  /** Milliseconds for which one beat makes the chain count as alive. */
  readonly aliveFor: number;
  /** Learns of each write that says that the gateway is alive. */
  readonly steady: Pick<StoreSteadiness, 'wrote'>;
  /** The facts of the first entry, including the links. */
  readonly startFacts: (links: readonly ChainLink[], lost: LostEntries | undefined) => string;
  /** What the store lost, as an entry, and the entries to record again. */
  readonly afterLoss: (lost: LostEntries) => { readonly mark: UnchainedEntry; readonly calls: RecentCalls['calls'] };
  /** Marks the store as lost for all gateways. The chain is written again only once it resolves. */
  readonly lost: (lost: LostEntries, key: AuditKey) => Promise<void>;
}

/** The first `recover` that reaches the store begins the chain, because a gateway also starts on a read-only store. */
export function createChainWriter(options: ChainWriterOptions): ChainWriter {
  const { store, clock, chain, aliveFor, steady } = options;
  let key: AuditKey | undefined;
  let head: ChainHead | undefined;
  /** The last head that the store acknowledged. */
  let acknowledged: ChainHead | undefined;
  const counts = new RecordCounts();
  /** Until when the store has the chain as alive. */
  let aliveUntil = 0;
  /**
   * MAC of the last entry of a batch that the store may or may not have. The number of that entry is not enough: a late commit of
   * the batch before may have the same number.
   */
  let inDoubt: string | undefined;

  /** What was acknowledged from this number on. */
  const lostFrom = (from: number): LostEntries | undefined =>
    acknowledged && { chain, from, to: acknowledged.seq, records: counts.from(from, acknowledged.seq) };

  const beat = async (): Promise<void> => {
    const until = clock.now() + aliveFor;
    try {
      await store.beat(chain, until, acknowledged);
    } catch (error) {
      // An entry that was written meanwhile was written after the one that is missing.
      if (error instanceof HeadMissing) head = undefined;
      throw error;
    }
    steady.wrote();
    aliveUntil = Math.max(aliveUntil, until);
  };

  return {
    async append(entries, durability, companion) {
      if (key === undefined || head === undefined) throw new Error('The chain has no known head: call recover first.');
      const made = chained({ key: key.macKey, chain, head, entries });
      try {
        // After an outage the chain may count as dead, and other gateways would take this call for one whose gateway was killed.
        if (aliveUntil - clock.now() < aliveFor / 2) await beat();
        const changes = { after: head, keys: keyChangesOf(chain, entries), permits: permitsOf(entries, made.entries) };
        await store.append(made.entries, changes, durability, companion);
        head = made.head;
        acknowledged = made.head;
        if (entries.length > 0) counts.add(head.seq, entries.length);
      } catch (error) {
        if (error instanceof IntentsRefused) throw error;
        head = undefined;
        inDoubt = made.head.mac;
        throw error;
      }
    },
    async recover() {
      if (head !== undefined) return { lastBatchWasWritten: false };
      // The store may have lost the whole chain.
      const begun = await beginChain(options, lostFrom(1));
      steady.wrote();
      const lastBatchWasWritten = begun.head.mac === inDoubt;
      const from = acknowledged && (await store.missingFrom(chain, acknowledged));
      const lost = from && lostFrom(from);
      head = lost ? await markLoss(options, { begun, lost, counts }) : begun.head;
      if (acknowledged === undefined) counts.add(head.seq, 1);
      ({ key } = begun);
      acknowledged = head;
      inDoubt = undefined;
      return { lastBatchWasWritten };
    },
    beat,
    state: () => (key === undefined || head === undefined ? undefined : { key, head }),
  };
}

interface Begun {
  readonly key: AuditKey;
  readonly head: ChainHead;
}

/** Begins the chain behind what was lost of it, where the store does not have it. */
async function beginChain(
  { store, clock, chain, aliveFor, startFacts }: ChainWriterOptions,
  lost: LostEntries | undefined,
): Promise<Begun> {
  const at = clock.now();
  return await store.begin({
    chain,
    at,
    aliveUntil: at + aliveFor,
    first: (made, links) => {
      const start = { kind: 'record' as const, call: 0, at, facts: startFacts(links, lost) };
      const head = { ...emptyChain(chain), seq: lost?.to ?? 0 };
      const [entry] = chained({ key: made.macKey, chain, head, entries: [start] }).entries;
      if (entry === undefined) throw new Error('A chain begins with one entry.');
      return entry;
    },
  });
}

function keyChangesOf(chain: string, entries: readonly UnchainedEntry[]): readonly CallKeyChange[] {
  return entries.flatMap(({ key, call, at }) => (key === undefined ? [] : [{ ...key, chain, call, at }]));
}

interface Loss {
  /** `head`: the one that the store has. */
  readonly begun: Begun;
  readonly lost: LostEntries;
  /** Gets what is recorded. */
  readonly counts: RecordCounts;
}

/** Appends the mark of the loss, and the recent calls that the store lost. Answers the head behind them. */
async function markLoss(
  { store, chain, ...options }: ChainWriterOptions,
  { begun: { key, head: last }, lost, counts }: Loss,
): Promise<ChainHead> {
  await options.lost(lost, key);
  const after = options.afterLoss(lost);
  const recorded = await store.recorded(chain, [...after.calls.keys()]);
  // Of a call that began before the loss, only the last entries are lost. Without its outcome, its key would stay in use.
  const again = [...after.calls].flatMap(([call, entries]) => entries.slice(recorded.get(call)));
  const behind = { ...last, seq: Math.max(lost.to, last.seq) };
  let entries = [after.mark, ...again];
  for (;;) {
    const { entries: made, head } = chained({ key: key.macKey, chain, head: behind, entries });
    try {
      await store.append(made, { after: last, keys: keyChangesOf(chain, entries), permits: [] }, 'disk');
      counts.add(head.seq, entries.length);
      return head;
    } catch (error) {
      if (!(error instanceof KeysTaken)) throw error;
      // Another gateway has made these calls meanwhile, with the same keys.
      const { calls } = error;
      entries = entries.map((entry) => (calls.has(entry.call) ? { ...entry, key: undefined } : entry));
    }
  }
}

/** How many records the entries of a chain held, as far as it was written lately. */
class RecordCounts {
  readonly #batches: { readonly seq: number; readonly records: number }[] = [];

  /** A batch up to this entry. */
  add(seq: number, records: number): void {
    this.#batches.push({ seq, records });
    if (this.#batches.length > 2 * batchesKept) this.#batches.splice(0, batchesKept);
  }

  /** Of the entries from one number to another; one for each where they were written long ago. */
  from(first: number, last: number): number {
    const index = this.#batches.findIndex(({ seq }) => seq >= first);
    if (index <= 0 && first > 1) return last - first + 1;
    return this.#batches.slice(Math.max(0, index)).reduce((sum, { records }) => sum + records, 0);
  }
}

const batchesKept = 5_000;

/** The permits of intents, with the ids of their records: each intent is an entry of its own. */
function permitsOf(entries: readonly UnchainedEntry[], made: readonly ChainedEntry[]): AppendChanges['permits'] {
  return entries.flatMap(({ permit, call }) => {
    if (permit === undefined) return [];
    const intent = made.find((entry) => entry.kind === 'intent' && entry.call === call);
    if (intent === undefined) throw new Error('A permit is of an intent.');
    return [{ permit, call, record: `${intent.chain}/${intent.seq}` }];
  });
}
