import { inCheckPhase } from '#base/check-phase.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { StatementRefused } from '#database/store-failure.ts';
import type { ChainWriter } from './chain-writer.ts';
import type { UnchainedEntry } from './hash-chain.ts';
import { KeysTaken } from './key-effect.ts';
import { type Waiting, WaitingEntries } from './waiting-entries.ts';

/**
 * Entries in one statement at most, and as many are written at once: a batch costs some 250 µs beside its entries. Hashing them takes one or two
 * milliseconds, in which nothing else is done, and a call that is to be on record waits for the batch before its own.
 */
const batchSize = 250;
/** Entries that may wait behind their calls, and their size in bytes: what comes beyond is dropped and counted. */
const waitingAtMost = 10_000;
const sizeAtMost = 33_554_432;
/** Milliseconds. */
const usualDelay = 500;
const delayAfterFailure = 1_000;

interface EntryQueueOptions {
  readonly writer: Pick<ChainWriter, 'append' | 'settle'>;
  /** Says that entries were dropped since the last time, to be written with the next batch. */
  readonly droppedEntry: (count: number) => UnchainedEntry;
  /** What came of a call that was refused, though its intent turned out to be on record. */
  readonly refusedEntry: (intent: UnchainedEntry) => UnchainedEntry;
  readonly onFailure: (error: unknown) => void;
  readonly onSuccess: () => void;
}

/** What waits to be written. Entries that come while a batch is being written go together in the next one (group commit). */
export class EntryQueue {
  readonly #options: EntryQueueOptions;
  readonly #urgent: Waiting[] = [];
  readonly #patient = new WaitingEntries();
  #dropped = 0;
  /** Dropped, and no entry that is written says so yet. */
  #untold = 0;
  /** How many of those the first entry of the batch at hand, or in doubt, speaks of; 0: none does. */
  #told = 0;
  /** The batch that the writer is in doubt about, without the entry that speaks of those. */
  #doubtful: readonly Waiting[] = [];
  /** Entries that are on their way to the store. */
  #onTheWay = 0;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The store has failed: it is tried again after a while, or where something is urgent. */
  #resting = false;
  #closed = false;

  constructor(options: EntryQueueOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the entry is durable; rejects with 503 where it is not, with KeysTaken where its idempotency key is another call's, and
   * then it is not written later either.
   */
  ahead(entry: UnchainedEntry): Promise<void> {
    return this.#promised(entry, 'ahead');
  }

  /** Resolves once the entry is durable, or once the store refused it: then it is kept and written as soon as the store takes it. */
  owed(entry: UnchainedEntry): Promise<void> {
    return this.#promised(entry, 'owed');
  }

  /** Written within a second. */
  behind(entry: UnchainedEntry): void {
    this.#keep({ entry, kind: 'behind' });
    const isDue = this.#patient.count >= batchSize && !this.#resting && !this.#closed;
    if (isDue) void this.#start();
    else this.#wake(usualDelay);
  }

  counts(): { readonly waiting: number; readonly dropped: number } {
    return { waiting: this.#urgent.length + this.#left + this.#onTheWay, dropped: this.#dropped };
  }

  /** Writes what there is, `last` behind it, and takes no more. Answers how many entries could not be written, and whether `last` is. */
  async close(last: UnchainedEntry): Promise<{ readonly left: number; readonly ended: boolean }> {
    const left = await this.flush();
    const ended =
      left === 0 &&
      (await this.ahead(last).then(
        () => true,
        () => false,
      ));
    this.#closed = true;
    this.#stopTimer();
    return { left, ended };
  }

  /** Writes what there is; resolves with how many entries could not be. */
  async flush(): Promise<number> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await this.#start();
      this.#stopTimer();
      if (this.#left === 0) break;
    }
    return this.#left;
  }

  get #left(): number {
    return this.#patient.count + this.#doubtful.length;
  }

  #promised(entry: UnchainedEntry, kind: 'ahead' | 'owed'): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#urgent.push({ entry, kind, settle: { resolve, reject } });
    void this.#start();
    return promise;
  }

  #keep(waiting: Waiting): void {
    if (this.#patient.count >= waitingAtMost || this.#patient.size >= sizeAtMost) this.#drop(1);
    else this.#patient.push(waiting);
  }

  #keepBefore(earlier: readonly Waiting[]): void {
    const later = this.#patient.take(this.#patient.count);
    for (const waiting of [...earlier, ...later]) this.#keep(waiting);
  }

  #drop(entries: number): void {
    this.#dropped += entries;
    this.#untold += entries;
  }

  #wake(delay: number): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => void this.#start(), delay);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Writes until nothing is urgent; resolves then, or when the store refuses. */
  #start(): Promise<void> {
    this.#stopTimer();
    this.#resting = false;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // What came in between the last look and now.
      if (this.#urgent.length > 0) void this.#start();
      else if (this.#patient.count > 0) this.#wake(usualDelay);
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    do {
      try {
        await this.#settle();
      } catch (error) {
        this.#refused(this.#urgent.splice(0), error);
        return;
      }
      // Whatever else this turn of the event loop brings goes along.
      await new Promise<void>(inCheckPhase);
      const batch = this.#nextBatch();
      if (batch.length === 0) return;
      if (!(await this.#written(batch))) return;
    } while (this.#urgent.length > 0 || this.#patient.count >= batchSize);
  }

  /** Answers whether the store took it. */
  async #written(batch: readonly Waiting[]): Promise<boolean> {
    if (batch.length === 0) return true;
    // What came of a call need not outlive the machine: it is unknown then, and the call is not made again.
    const durability = batch.some(({ kind }) => kind === 'ahead') ? 'disk' : 'process';
    const entries = batch.map(({ entry }) => entry);
    this.#onTheWay = entries.length;
    try {
      await this.#options.writer.append(entries, durability).finally(() => (this.#onTheWay = 0));
    } catch (error) {
      if (error instanceof KeysTaken) return await this.#written(withoutTaken(batch, error));
      this.#failed(batch, error);
      return false;
    }
    this.#haveTold();
    for (const { settle } of batch) settle?.resolve();
    this.#options.onSuccess();
    return true;
  }

  #nextBatch(): readonly Waiting[] {
    const notice: Waiting[] = this.#untold === 0 ? [] : [{ entry: this.#options.droppedEntry(this.#untold), kind: 'behind' }];
    this.#told = this.#untold;
    const urgent = this.#urgent.splice(0, batchSize - notice.length);
    // In a chain none is earlier than the one before: what rides along came before the call, but for what came during the batch before.
    return [...notice, ...this.#patient.take(batchSize - notice.length - urgent.length), ...urgent];
  }

  #haveTold(): void {
    this.#untold -= this.#told;
    this.#told = 0;
  }

  /** A batch whose writing failed may be there nevertheless: then its entries are not written again. */
  async #settle(): Promise<void> {
    const { lastBatchIsIn } = await this.#options.writer.settle();
    if (lastBatchIsIn) this.#haveTold();
    const doubtful = this.#doubtful;
    this.#doubtful = [];
    if (doubtful.length === 0) return;
    const { refusedEntry } = this.#options;
    this.#keepBefore(
      lastBatchIsIn
        ? doubtful.filter(isIntent).map(({ entry }) => ({ entry: refusedEntry(entry), kind: 'owed' }))
        : doubtful.filter(({ kind }) => kind !== 'ahead'),
    );
  }

  /** The store is away, and none of these was tried: only what was to be written ahead of a call is given up. */
  #refused(waiting: readonly Waiting[], error: unknown): void {
    this.#keepBefore(waiting.filter(({ kind }) => kind !== 'ahead'));
    this.#answer(waiting, error);
  }

  #failed(batch: readonly Waiting[], error: unknown): void {
    // What a store that answers refuses, it would refuse again and again, and hold up what comes behind it.
    // The entry that speaks of dropped ones is made anew, of those and of what is dropped now.
    const entries = this.#told === 0 ? batch : batch.slice(1);
    if (error instanceof StatementRefused && error.kind === 'other') this.#drop(entries.length);
    else this.#doubtful = entries;
    this.#answer(entries, error);
  }

  #answer(waiting: readonly Waiting[], error: unknown): void {
    this.#options.onFailure(error);
    const refusal = notOnRecord(error);
    for (const { kind, settle } of waiting) {
      if (kind === 'ahead') settle?.reject(refusal);
      else settle?.resolve();
    }
    this.#resting = true;
    this.#wake(delayAfterFailure);
  }
}

/**
 * Nothing was written: those whose keys are taken are told, and the others come at once, without any that came since. One of those could
 * have the key of another, and so on for ever.
 */
function withoutTaken(batch: readonly Waiting[], taken: KeysTaken): readonly Waiting[] {
  const isTaken = ({ kind, entry }: Waiting): boolean => kind === 'ahead' && taken.calls.has(entry.call);
  for (const { settle } of batch.filter(isTaken)) settle?.reject(taken);
  return batch.filter((waiting) => !isTaken(waiting));
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
