import type { Clock } from '#base/clock.ts';
import type { ChainLink } from './audit-entry.ts';
import type { AuditKey } from './audit-key.ts';
import type { AuditStore, Durability } from './audit-store.ts';
import { type ChainHead, chained, emptyChain, type UnchainedEntry } from './hash-chain.ts';
import { type CallKeyEffect, KeysTaken } from './key-effect.ts';

/** Puts entries at the end of one chain, all of a batch or none. */
export interface ChainWriter {
  /**
   * Rejects where the store did not take them, or did not say so: `settle` is then to be asked before anything else is written. Not so
   * with KeysTaken: nothing was written, and the others can be at once.
   */
  append(entries: readonly UnchainedEntry[], durability: Durability): Promise<void>;
  /**
   * Makes sure that the chain is there and where it stands. Answers whether the last batch that `append` rejected is in it after all.
   */
  settle(): Promise<{ readonly lastBatchIsIn: boolean }>;
  /** The gateway is there; all that was appended before is on the disk then. */
  beat(): Promise<void>;
  /** What a checkpoint is made of; undefined until the chain was begun. */
  state(): { readonly key: AuditKey; readonly head: ChainHead } | undefined;
}

interface ChainWriterOptions {
  readonly store: AuditStore;
  readonly clock: Clock;
  readonly chain: string;
  /** Milliseconds that the chain counts as alive from now on. */
  readonly aliveFor: number;
  /** What the first entry says beside its links. */
  readonly startFacts: (links: readonly ChainLink[]) => string;
}

/** The chain is begun by the first `settle` that finds the store: a gateway starts on a store that can only be read. */
export function createChainWriter({ store, clock, chain, aliveFor, startFacts }: ChainWriterOptions): ChainWriter {
  let key: AuditKey | undefined;
  let head: ChainHead | undefined;
  /** What the store says of the chain by now. */
  let aliveUntil = 0;
  /** MAC of the last entry of a batch that may be in the store or not. Its number alone could be that of the batch before, committed late. */
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
        if (entry === undefined) throw new Error('A chain begins with an entry.');
        return entry;
      },
    });
  };

  const beat = async (): Promise<void> => {
    const until = clock.now() + aliveFor;
    await store.beat(chain, until);
    aliveUntil = until;
  };

  const effectOf = ({ key: effect, call, at }: UnchainedEntry): readonly CallKeyEffect[] =>
    effect === undefined ? [] : [{ ...effect, chain, call, at }];

  return {
    async append(entries, durability) {
      if (key === undefined || head === undefined) throw new Error('The chain is not settled.');
      const made = chained({ key: key.macKey, chain, head, entries });
      try {
        // After an outage others would take a call that is under way for one whose gateway was killed.
        if (aliveUntil - clock.now() < aliveFor / 2) await beat();
        await store.append(made.entries, entries.flatMap(effectOf), durability);
        head = made.head;
      } catch (error) {
        if (error instanceof KeysTaken) throw error;
        head = undefined;
        inDoubt = made.head.mac;
        throw error;
      }
    },
    async settle() {
      if (head !== undefined) return { lastBatchIsIn: false };
      const begun = await begin();
      ({ key, head } = begun);
      const lastBatchIsIn = head.mac === inDoubt;
      inDoubt = undefined;
      return { lastBatchIsIn };
    },
    beat,
    state: () => (key === undefined || head === undefined ? undefined : { key, head }),
  };
}
