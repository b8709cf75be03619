import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '#base/gateway-error.ts';
import { StatementRefused } from '#database/store-failure.ts';
import type { ChainWriter } from './chain/chain-writer.ts';
import type { UnchainedEntry } from './chain/hash-chain.ts';
import type { Companion, CompanionBatch, Join } from './companion.ts';
import { IntentsRefused } from './idempotency/idempotent-request.ts';

/**
 * How many entries one statement writes at most. A batch also starts when this many entries wait, because each batch costs about
 * 250 µs in addition to its entries. To hash them takes one or two milliseconds, in which the event loop does nothing else. An
 * intent also waits for the batch before its own.
 */
const batchSize = 250;
/** How many background entries may wait, and their size in characters. Further entries are dropped and counted. */
const maxWaiting = 10_000;
const maxSize = 33_554_432;
/** Milliseconds. */
const usualDelay = 500;
const shortDelay = 100;
const delayAfterFailure = 1_000;

/**
 * `runs`: intents of runs, which share transactions with the companion, the journal of runs. No call of others waits for what the journal locks,
 * but for one such transaction before its own.
 */
type Lane = 'calls' | 'runs';
const lanes: readonly Lane[] = ['calls', 'runs'];

/** An entry that waits to be written. */
interface Waiting {
  readonly entry: UnchainedEntry;
  /**
   * `ahead`: its call waits until it is durable. `awaited`: its caller waits, but a failure of the store does not reject it.
   * `background`: no call waits for it.
   */
  readonly kind: 'ahead' | 'awaited' | 'background';
  readonly promise?: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

interface EntryQueueOptions {
  readonly writer: Pick<ChainWriter, 'append' | 'recover'>;
  /** Makes the entry that reports dropped entries. It is written with the next batch. */
  readonly droppedEntry: (count: number) => UnchainedEntry;
  /** Makes the outcome of a call that was refused although the store turned out to have its intent. */
  readonly refusedEntry: (intent: UnchainedEntry) => UnchainedEntry;
  readonly onFailure: (error: unknown) => void;
  readonly onSuccess: () => void;
}

/**
 * Entries that wait to be written. Entries that arrive while a batch is written go into the next batch together (group commit).
 */
export class EntryQueue {
  readonly #options: EntryQueueOptions;
  readonly #urgent: Record<Lane, Waiting[]> = { calls: [], runs: [] };
  #companion: Companion | undefined;
  readonly #background: Waiting[] = [];
  /** Of the background entries. */
  #size = 0;
  #dropped = 0;
  /** Dropped entries that no written entry has reported. */
  #unreported = 0;
  /**
   * How many of `#unreported` the first entry of the current batch, or of the batch in doubt, reports. 0: the batch has no such
   * entry.
   */
  #reported = 0;
  /** The batch that the store may or may not have, without the entry that reports dropped entries. */
  #inDoubt: readonly Waiting[] = [];
  /** How many entries the current statement writes. */
  #writing = 0;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends: milliseconds of the monotonic clock. */
  #dueAt = Infinity;
  /** The store has failed. The next try follows after a delay, or with the next urgent entry. */
  #isBackingOff = false;
  #closed = false;

  constructor(options: EntryQueueOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the entry is durable. Otherwise rejects with 503, or with IntentsRefused if another call has its idempotency
   * key, or if its permit cannot be used. The entry is then not written later either.
   */
  writeAhead(entry: UnchainedEntry, lane: Lane = 'calls'): Promise<void> {
    return this.#promised(entry, 'ahead', lane);
  }

  /**
   * Resolves once the entry is durable. If the store fails, resolves too, and the entry is written as soon as the store works
   * again.
   */
  writeAwaited(entry: UnchainedEntry): Promise<void> {
    return this.#promised(entry, 'awaited', 'calls');
  }

  /** Writes the entry within a second. `soon`: with the next batch, or after 100 ms. */
  writeInBackground(entry: UnchainedEntry, when?: 'soon'): void {
    this.#keep({ entry, kind: 'background' });
    const isDue = this.#background.length >= batchSize && !this.#isBackingOff && !this.#closed;
    if (isDue) void this.#write();
    else this.#writeAfter(when === 'soon' && !this.#isBackingOff ? shortDelay : usualDelay);
  }

  /** See Companion. */
  readonly join: Join = (companion) => {
    this.#companion = companion;
    return () => void this.#write();
  };

  counts(): { readonly waiting: number; readonly dropped: number } {
    return { waiting: this.#urgentCount + this.#left + this.#writing, dropped: this.#dropped };
  }

  /**
   * Writes all entries, then `last`, and accepts no more. Resolves with how many entries could not be written, and whether `last`
   * was.
   */
  async close(last: UnchainedEntry): Promise<{ readonly left: number; readonly ended: boolean }> {
    const left = await this.flush();
    const ended =
      left === 0 &&
      (await this.writeAhead(last).then(
        () => true,
        () => false,
      ));
    this.#closed = true;
    this.#stopTimer();
    return { left, ended };
  }

  /** Writes all entries. Resolves with how many could not be written. */
  async flush(): Promise<number> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await this.#write();
      this.#stopTimer();
      if (this.#left === 0) break;
    }
    return this.#left;
  }

  get #left(): number {
    return this.#background.length + this.#inDoubt.length;
  }

  get #urgentCount(): number {
    return this.#urgent.calls.length + this.#urgent.runs.length;
  }

  #isLoaded(lane: Lane): boolean {
    return this.#urgent[lane].length > 0 || (lane === 'runs' && this.#companion?.isWaiting === true);
  }

  #promised(entry: UnchainedEntry, kind: 'ahead' | 'awaited', lane: Lane): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#urgent[lane].push({ entry, kind, promise: { resolve, reject } });
    void this.#write();
    return promise;
  }

  #keep(waiting: Waiting): void {
    if (this.#background.length >= maxWaiting || this.#size >= maxSize) {
      this.#drop(1);
      return;
    }
    this.#background.push(waiting);
    this.#size += sizeOf(waiting);
  }

  #takeBackground(count: number): readonly Waiting[] {
    const taken = this.#background.splice(0, count);
    for (const waiting of taken) this.#size -= sizeOf(waiting);
    return taken;
  }

  #keepBefore(earlier: readonly Waiting[]): void {
    const later = this.#takeBackground(this.#background.length);
    for (const waiting of [...earlier, ...later]) this.#keep(waiting);
  }

  #drop(entries: number): void {
    this.#dropped += entries;
    this.#unreported += entries;
  }

  #writeAfter(delay: number): void {
    const dueAt = performance.now() + delay;
    if (this.#closed || this.#dueAt <= dueAt) return;
    this.#stopTimer();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => void this.#write(), delay);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#dueAt = Infinity;
  }

  /** Writes until no urgent entry waits. Resolves then, or when the store fails. */
  #write(): Promise<void> {
    this.#stopTimer();
    this.#isBackingOff = false;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Entries that arrived after the last check.
      if (lanes.some((lane) => this.#isLoaded(lane))) void this.#write();
      else if (this.#background.length > 0) this.#writeAfter(usualDelay);
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    do {
      try {
        await this.#recover();
      } catch (error) {
        this.#refused(
          lanes.flatMap((lane) => this.#urgent[lane].splice(0)),
          error,
        );
        return;
      }
      // Entries of the same iteration of the event loop go into the same batch.
      await setImmediate();
      // Background entries go with those for which someone waits.
      if ((this.#isLoaded('calls') || !this.#isLoaded('runs')) && !(await this.#tryToWrite(this.#nextBatch('calls')))) return;
      if (this.#isLoaded('runs') && !(await this.#tryToWrite(this.#nextBatch('runs'), this.#companion?.take()))) return;
    } while (lanes.some((lane) => this.#isLoaded(lane)) || this.#background.length >= batchSize);
  }

  /** Resolves with true if the store accepted the batch. */
  async #tryToWrite(batch: readonly Waiting[], companion?: CompanionBatch): Promise<boolean> {
    if (batch.length === 0 && companion === undefined) return true;
    // An outcome need not survive a power failure: without it the outcome is unknown, and the call is not made again.
    const durability = batch.some(({ kind }) => kind === 'ahead') ? 'disk' : 'process';
    const entries = batch.map(({ entry }) => entry);
    this.#writing = entries.length;
    try {
      await this.#options.writer.append(entries, durability, companion?.write).finally(() => (this.#writing = 0));
    } catch (error) {
      return await this.#goOnAfter(error, batch, companion);
    }
    this.#markReported();
    companion?.committed();
    for (const { promise } of batch) promise?.resolve();
    this.#options.onSuccess();
    return true;
  }

  async #goOnAfter(error: unknown, batch: readonly Waiting[], companion: CompanionBatch | undefined): Promise<boolean> {
    if (error instanceof IntentsRefused) return await this.#tryToWrite(withoutRefused(batch, error), companion);
    companion?.failed(passing(error));
    // Nothing was written, and perhaps for a statement of the companion: the entries are tried without it.
    const again = companion !== undefined && error instanceof StatementRefused;
    const failure = again ? await failureOf(this.#options.writer.recover()) : error;
    if (failure === undefined) return await this.#tryToWrite(batch);
    this.#failed(batch, failure);
    return false;
  }

  #nextBatch(lane: Lane): readonly Waiting[] {
    const notice: Waiting[] =
      this.#unreported === 0 ? [] : [{ entry: this.#options.droppedEntry(this.#unreported), kind: 'background' }];
    this.#reported = this.#unreported;
    const urgent = this.#urgent[lane].splice(0, batchSize - notice.length);
    // Entries of a chain are in the order of time. The background entries came before the urgent ones of this batch, except those
    // that came while the last batch was written.
    return [...notice, ...this.#takeBackground(batchSize - notice.length - urgent.length), ...urgent];
  }

  #markReported(): void {
    this.#unreported -= this.#reported;
    this.#reported = 0;
  }

  /** The store may have a batch although its writing failed. Its entries are then not written again. */
  async #recover(): Promise<void> {
    const { lastBatchWasWritten } = await this.#options.writer.recover();
    if (lastBatchWasWritten) this.#markReported();
    const inDoubt = this.#inDoubt;
    this.#inDoubt = [];
    if (inDoubt.length === 0) return;
    const { refusedEntry } = this.#options;
    this.#keepBefore(
      lastBatchWasWritten
        ? inDoubt.filter(isIntent).map(({ entry }) => ({ entry: refusedEntry(entry), kind: 'awaited' }))
        : inDoubt.filter(({ kind }) => kind !== 'ahead'),
    );
  }

  /** The store is away, and none of these entries was tried. Only those written ahead of a call are given up. */
  #refused(waiting: readonly Waiting[], error: unknown): void {
    this.#keepBefore(waiting.filter(({ kind }) => kind !== 'ahead'));
    for (let batch = this.#companion?.take(); batch !== undefined; batch = this.#companion?.take()) batch.failed(passing(error));
    this.#endWait(waiting, error);
  }

  #failed(batch: readonly Waiting[], error: unknown): void {
    // If the store answers and refuses a batch, it would refuse it each time and block the entries behind it. So the batch is
    // dropped. The entry that reports dropped entries is left out: the next batch gets a new one, which also counts the entries
    // dropped now.
    const entries = this.#reported === 0 ? batch : batch.slice(1);
    if (error instanceof StatementRefused && error.kind === 'other') this.#drop(entries.length);
    else this.#inDoubt = entries;
    this.#endWait(entries, error);
  }

  #endWait(waiting: readonly Waiting[], error: unknown): void {
    this.#options.onFailure(error);
    const refusal = notOnRecord(error);
    for (const { kind, promise } of waiting) {
      if (kind === 'ahead') promise?.reject(refusal);
      else promise?.resolve();
    }
    this.#isBackingOff = true;
    this.#writeAfter(delayAfterFailure);
  }
}

/**
 * The transaction wrote nothing. The intents that may not be written are rejected, and the other entries are written at once. Newer
 * entries are not added: one of them could be refused too, and this could repeat without end.
 */
function withoutRefused(batch: readonly Waiting[], refused: IntentsRefused): readonly Waiting[] {
  const isRefused = ({ kind, entry }: Waiting): boolean => kind === 'ahead' && refused.calls.has(entry.call);
  for (const { promise } of batch.filter(isRefused)) promise?.reject(refused);
  return batch.filter((waiting) => !isRefused(waiting));
}

function sizeOf({ entry: { facts, key } }: Waiting): number {
  return facts.length + (key?.kind === 'end' ? (key.reply?.length ?? 0) : 0);
}

function isIntent({ kind, entry }: Waiting): boolean {
  return kind === 'ahead' && entry.kind === 'intent';
}

/** Undefined where it succeeds. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** What the companion may try again is a refusal that passes. */
function passing(error: unknown): unknown {
  return error instanceof StatementRefused || error instanceof GatewayError ? error : notOnRecord(error);
}

function notOnRecord(error: unknown): GatewayError {
  const why = error instanceof GatewayError ? ` ${error.message}` : '';
  return new GatewayError('audit-unavailable', `The call cannot be put on record, so it did not leave the gateway.${why}`, {
    cause: error,
    headers: { 'Retry-After': '1' },
  });
}
