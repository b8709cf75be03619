import type { Transaction } from 'kysely';
import { randomHex } from '#base/text/random-hex.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { NewEvent, NewRun, RunCommand } from './run-records.ts';

/**
 * What a commit may concern others with. `run`: the run wants to go on, or has a command. `events`: the log has new events. `messages`: some of
 * them are messages, which wake runs that listen. `all`: changes may have been missed, so look at everything.
 */
export type RunChange =
  | { readonly kind: 'run'; readonly id: string }
  | { readonly kind: 'events' | 'messages' | 'all' }
  /** The store lost events with higher numbers, and gives these numbers again. */
  | { readonly kind: 'rewound'; readonly to: number };

/** What a transaction changed. */
export interface Changed {
  /** Ids of runs. */
  readonly runs: readonly string[];
  readonly events: boolean;
  readonly messages?: boolean;
  /** Any run may have changed. */
  readonly all?: true | undefined;
}

export const nothingChanged: Changed = { runs: [], events: false };

export type ChangingWork<T> = (transaction: Transaction<Tables>) => Promise<{ readonly result: T } & RunsChange>;

/** What a transaction changes of runs, and of the log of events. */
export interface RunsChange {
  /** Runs to create; one that exists stays as it is. */
  readonly runs?: readonly NewRun[];
  /** Commands to runs. One to a run that has ended is dropped. */
  readonly commands?: readonly { readonly run: string; readonly command: RunCommand }[];
  /** Lifecycle events that are not of a run. */
  readonly events?: readonly NewEvent[];
  /** Any run may have changed. */
  readonly all?: true;
}

/** Runs `work` in a transaction of the part `records`, and does in it what `work` answers. */
export type ChangeRuns = <T>(work: ChangingWork<T>) => Promise<T>;

export interface RunChanges {
  onChange(listener: (change: RunChange) => void): () => void;
  /** Runs `work` in a transaction of the records. After its commit every listener, in every gateway, learns what it changed. */
  commit<T>(work: (transaction: Transaction<Tables>) => Promise<{ readonly result: T } & Changed>): Promise<T>;
  /** As `commit`, in a transaction of the caller, who calls `committed` after it. */
  within<T>(
    transaction: Transaction<Tables>,
    work: (transaction: Transaction<Tables>) => Promise<{ readonly result: T } & Changed>,
  ): Promise<{ readonly result: T; readonly committed: () => void }>;
  /** Tells the listeners of this process alone. */
  tell(change: RunChange): void;
  close(): void;
}

const channelOfRuns = 'orchestration_gateway_runs';
/** A notification of PostgreSQL has less than 8,000 bytes. */
const payloadSize = 7_000;
/** Of a transaction that changes more runs, others learn `all`. */
const maxRuns = 1_000;

export function createRunChanges({ ofRuns, notifications }: Database): RunChanges {
  const listeners = new Set<(change: RunChange) => void>();
  const emit = (change: RunChange): void => {
    for (const listener of listeners) listener(change);
  };
  // This process learns of its own commits without a detour over the server.
  const sender = randomHex(8);
  const silence = notifications.listen(channelOfRuns, {
    received(payload) {
      const [from, ...words] = payload.split(' ');
      if (from !== sender) for (const word of words) emit(changeOf(word));
    },
    missed: () => emit({ kind: 'all' }),
  });
  const within: RunChanges['within'] = async (transaction, work) => {
    const worked = await work(transaction);
    const words = wordsOf(worked);
    await notifications.notify(transaction, channelOfRuns, payloadsOf(sender, words));
    return {
      result: worked.result,
      committed() {
        for (const word of words) emit(changeOf(word));
      },
    };
  };
  return {
    within,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async commit(work) {
      const { result, committed } = await ofRuns.transaction().execute((transaction) => within(transaction, work));
      committed();
      return result;
    },
    tell: emit,
    close() {
      silence();
      listeners.clear();
    },
  };
}

/** A change as a word without a space: its kind, or `run:` and the id. */
function wordsOf({ runs, events, messages = false, all }: Changed): readonly string[] {
  const ids = [...new Set(runs)];
  const ofRuns =
    all === true || ids.length > maxRuns || ids.some((id) => /\s/u.test(id)) ? ['all'] : ids.map((id) => `run:${id}`);
  return [...ofRuns, ...(messages ? ['messages'] : []), ...(events ? ['events'] : [])];
}

function changeOf(word: string): RunChange {
  if (word.startsWith('run:')) return { kind: 'run', id: word.slice('run:'.length) };
  return { kind: word === 'events' || word === 'messages' ? word : 'all' };
}

function payloadsOf(sender: string, words: readonly string[]): readonly string[] {
  const payloads: string[] = [];
  for (const word of words) {
    const last = payloads.at(-1);
    if (last !== undefined && last.length + word.length < payloadSize) payloads[payloads.length - 1] = `${last} ${word}`;
    else payloads.push(`${sender} ${word}`);
  }
  return payloads;
}
