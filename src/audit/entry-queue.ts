import { GatewayError } from '#base/gateway-error.ts';
import { StatementRefused } from '#database/store-failure.ts';
import type { ChainWriter } from './chain-writer.ts';
import type { UnchainedEntry } from './hash-chain.ts';

/** Entries in one statement at most: hashing them takes a few milliseconds. */
const batchSize = 500;
/** Entries that may wait behind their calls, and their characters: what comes beyond is dropped and counted. */
const waitingAtMost = 10_000;
const charactersAtMost = 33_554_432;
/** Milliseconds. */
const usualDelay = 500;
const delayAfterFailure = 1_000;

/** What waits to be written. Entries that come while a batch is being written go together in the next one (group commit). */
export interface EntryQueue {
  /** Resolves once the entry is durable; rejects with 503 where it is not, and then it is not written later either. */
  ahead(entry: UnchainedEntry): Promise<void>;
  /** Resolves once the entry is durable, or once the store refused it: then it is kept and written as soon as the store takes it. */
  owed(entry: UnchainedEntry): Promise<void>;
  /** Written within a second. */
  behind(entry: UnchainedEntry): void;
  counts(): { readonly waiting: number; readonly dropped: number };
  /** Writes what there is; resolves with how many entries could not be. */
  flush(): Promise<number>;
}

interface Waiting {
  readonly entry: UnchainedEntry;
  readonly kind: 'ahead' | 'behind' | 'owed';
  readonly settle?: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

interface EntryQueueOptions {
  readonly writer: ChainWriter;
  /** Says that entries were dropped since the last time, to be written with the next batch. */
  readonly droppedEntry: (count: number) => UnchainedEntry;
  /** What came of a call that was refused, though its intent turned out to be on record. */
  readonly refusedEntry: (intent: UnchainedEntry) => UnchainedEntry;
  readonly onFailure: (error: unknown) => void;
  readonly onSuccess: () => void;
}

export function createEntryQueue(options: EntryQueueOptions): EntryQueue {
  const { writer } = options;
  const urgent: Waiting[] = [];
  let patient: Waiting[] = [];
  let characters = 0;
  let dropped = 0;
  let untold = 0;
  /** The batch that the writer is in doubt about. */
  let lost: readonly Waiting[] = [];
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const keep = (waiting: Waiting): void => {
    if (patient.length >= waitingAtMost || characters + waiting.entry.facts.length > charactersAtMost) {
      dropped += 1;
      untold += 1;
      return;
    }
    characters += waiting.entry.facts.length;
    patient.push(waiting);
  };

  const keepBefore = (earlier: readonly Waiting[]): void => {
    const later = patient;
    patient = [];
    characters = 0;
    for (const waiting of [...earlier, ...later]) keep(waiting);
  };

  const wake = (delay: number): void => {
    timer ??= setTimeout(start, delay);
  };

  const start = (): void => {
    clearTimeout(timer);
    timer = undefined;
    running ??= run().finally(() => {
      running = undefined;
      // What came in between the last look and now.
      if (urgent.length > 0) start();
      else if (patient.length > 0) wake(usualDelay);
    });
  };

  const run = async (): Promise<void> => {
    do {
      try {
        await settle();
      } catch (error) {
        refuse(urgent.splice(0), error);
        return;
      }
      const batch = nextBatch();
      if (batch.length === 0) return;
      try {
        await writer.append(batch.map(({ entry }) => entry));
      } catch (error) {
        lost = batch;
        refuse([], error);
        answer(batch, error);
        return;
      }
      for (const { settle: settled } of batch) settled?.resolve();
      options.onSuccess();
    } while (urgent.length > 0 || patient.length >= batchSize);
  };

  const nextBatch = (): readonly Waiting[] => {
    if (untold > 0) {
      const entry = options.droppedEntry(untold);
      untold = 0;
      urgent.push({ entry, kind: 'behind' });
    }
    const batch = urgent.splice(0, batchSize);
    const more = patient.splice(0, batchSize - batch.length);
    for (const { entry } of more) characters -= entry.facts.length;
    return [...batch, ...more];
  };

  /** A batch whose writing failed may be there nevertheless: then its entries are not written again. */
  const settle = async (): Promise<void> => {
    const { lastBatchIsIn } = await writer.settle();
    const doubtful = lost;
    lost = [];
    if (doubtful.length === 0) return;
    keepBefore(
      lastBatchIsIn
        ? doubtful.filter(isIntent).map(({ entry }) => ({ entry: options.refusedEntry(entry), kind: 'owed' }))
        : doubtful.filter(({ kind }) => kind !== 'ahead'),
    );
  };

  /** The store is away: what was not tried is kept, but for what was to be written ahead of a call. */
  const refuse = (waiting: readonly Waiting[], error: unknown): void => {
    options.onFailure(error);
    keepBefore(waiting.filter(({ kind }) => kind !== 'ahead'));
    answer(waiting, error);
    // What a store refuses that answers would be refused again and again, and hold up what comes behind it.
    if (error instanceof StatementRefused && error.kind === 'other') {
      dropped += lost.length;
      untold += lost.length;
      lost = [];
    }
    wake(delayAfterFailure);
  };

  const answer = (waiting: readonly Waiting[], error: unknown): void => {
    const refusal = notOnRecord(error);
    for (const { kind, settle: settled } of waiting) {
      if (kind === 'ahead') settled?.reject(refusal);
      else settled?.resolve();
    }
  };

  const promised = (entry: UnchainedEntry, kind: 'ahead' | 'owed'): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    urgent.push({ entry, kind, settle: { resolve, reject } });
    start();
    return promise;
  };

  return {
    ahead: (entry) => promised(entry, 'ahead'),
    owed: (entry) => promised(entry, 'owed'),
    behind(entry) {
      keep({ entry, kind: 'behind' });
      wake(usualDelay);
    },
    counts: () => ({ waiting: urgent.length + patient.length + lost.length, dropped }),
    async flush() {
      for (let attempt = 0; attempt < 2; attempt += 1) {
        start();
        while (running !== undefined) await running;
        clearTimeout(timer);
        timer = undefined;
        if (patient.length + lost.length === 0) break;
      }
      return patient.length + lost.length;
    },
  };
}

function isIntent({ kind, entry }: Waiting): boolean {
  return kind === 'ahead' && entry.kind === 'intent';
}

function notOnRecord(error: unknown): GatewayError {
  const why = error instanceof GatewayError ? ` ${error.message}` : '';
  return new GatewayError('audit-unavailable', `The call cannot be put on record, so it did not leave the gateway.${why}`, {
    cause: error,
    headers: { 'Retry-After': '1' },
  });
}
