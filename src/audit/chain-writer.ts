import type { Clock } from '#base/clock.ts';
import type { ChainedEntry, ChainLink } from './audit-entry.ts';
import type { AuditKey } from './audit-key.ts';
import type { AppendChanges, AuditStore, Durability } from './audit-store.ts';
import { type ChainHead, chained, emptyChain, type UnchainedEntry } from './hash-chain.ts';
import { type CallKeyChange, IntentsRefused } from './key-change.ts';

/** Appends entries to one chain: all entries of a batch or none. */
export interface ChainWriter {
  /**
   * Rejects if the store did not accept the entries, or did not answer: then call `recover` before the next `append`. After
   * IntentsRefused no `recover` is needed: nothing was written, and the other entries can be appended at once.
   */
  append(entries: readonly UnchainedEntry[], durability: Durability): Promise<void>;
  /**
   * Makes sure that the chain exists, and reads its head. Resolves with whether the store has the last batch that `append`
   * rejected.
   */
  recover(): Promise<{ readonly lastBatchWasWritten: boolean }>;
  /** Records that the gateway runs. When it resolves, all earlier entries are on the disk. */
  beat(): Promise<void>;
  /** What a checkpoint consists of; undefined until the chain has begun. */
  state(): { readonly key: AuditKey; readonly head: ChainHead } | undefined;
}

interface ChainWriterOptions {
  readonly store: AuditStore;
  readonly clock: Clock;
  readonly chain: string;
  /** Milliseconds for which one beat makes the chain count as alive. */
  readonly aliveFor: number;
  /** The facts of the first entry, including the links. */
  readonly startFacts: (links: readonly ChainLink[]) => string;
}

/** The first `recover` that reaches the store begins the chain, because a gateway also starts on a read-only store. */
export function createChainWriter({ store, clock, chain, aliveFor, startFacts }: ChainWriterOptions): ChainWriter {
  let key: AuditKey | undefined;
  let head: ChainHead | undefined;
  /** Until when the store has the chain as alive. */
  let aliveUntil = 0;
  /**
   * MAC of the last entry of a batch that the store may or may not have. The number of that entry is not enough: a late commit of
   * the batch before may have the same number.
   */
  let inDoubt: string | undefined;

  const begin = async (): Promise<{ readonly key: AuditKey; readonly head: ChainHead }> => {
    const at = clock.now();
    return await store.begin({
      chain,
      at,
      aliveUntil: at + aliveFor,
      first: (made, links) => {
        const start = { kind: 'record' as const, call: 0, at, facts: startFacts(links) };
        const [entry] = chained({ key: made.macKey, chain, head: emptyChain(chain), entries: [start] }).entries;
        if (entry === undefined) throw new Error('A chain begins with one entry.');
        return entry;
      },
    });
  };

  const beat = async (): Promise<void> => {
    const until = clock.now() + aliveFor;
    await store.beat(chain, until);
    aliveUntil = until;
  };

  const keyChangeOf = ({ key: change, call, at }: UnchainedEntry): readonly CallKeyChange[] =>
    change === undefined ? [] : [{ ...change, chain, call, at }];

  return {
    async append(entries, durability) {
      if (key === undefined || head === undefined) throw new Error('The chain has no known head: call recover first.');
      const made = chained({ key: key.macKey, chain, head, entries });
      try {
        // After an outage the chain may count as dead, and other gateways would take this call for one whose gateway was killed.
        if (aliveUntil - clock.now() < aliveFor / 2) await beat();
        await store.append(
          made.entries,
          { keys: entries.flatMap(keyChangeOf), permits: permitsOf(entries, made.entries) },
          durability,
        );
        head = made.head;
      } catch (error) {
        if (error instanceof IntentsRefused) throw error;
        head = undefined;
        inDoubt = made.head.mac;
        throw error;
      }
    },
    async recover() {
      if (head !== undefined) return { lastBatchWasWritten: false };
      const begun = await begin();
      ({ key, head } = begun);
      const lastBatchWasWritten = head.mac === inDoubt;
      inDoubt = undefined;
      return { lastBatchWasWritten };
    },
    beat,
    state: () => (key === undefined || head === undefined ? undefined : { key, head }),
  };
}

/** The permits of intents, with the ids of their records: each intent is an entry of its own. */
function permitsOf(entries: readonly UnchainedEntry[], made: readonly ChainedEntry[]): AppendChanges['permits'] {
  return entries.flatMap(({ permit, call }) => {
    if (permit === undefined) return [];
    const intent = made.find((entry) => entry.kind === 'intent' && entry.call === call);
    if (intent === undefined) throw new Error('A permit is of an intent.');
    return [{ permit, call, record: `${intent.chain}/${intent.seq}` }];
  });
}
