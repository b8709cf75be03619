import type { Clock } from '#base/clock.ts';
import type { AuditFacts } from './audit-entry.ts';

/** Milliseconds in which refusals of one kind are counted into one record. */
const countedFor = 60_000;
/**
 * Records at once, and the milliseconds after which there may be one more. So callers without credentials add some 20 MB a day at most, and
 * cannot push other records out of the log.
 */
const recordsAtOnce = 240;
const recordEvery = 6_000;
/** Kinds that are counted at the same time. A source has few, so that it leaves others their records. */
const maxKinds = 1_000;
const kindsOfSource = 16;

interface Counted {
  readonly source: string;
  readonly facts: AuditFacts;
  since: number;
  /** Refusals after the first one that no record has. */
  count: number;
}

/**
 * Refusals of requests before their caller is known: anybody can make them. The first one of a source, route, code and tried name goes on
 * record at once. Those that follow within a minute are counted, and their number goes on record.
 */
export class RepeatedRefusals {
  readonly #clock: Clock;
  readonly #write: (facts: AuditFacts) => void;
  readonly #isShort: () => boolean;
  readonly #kinds = new Map<string, Counted>();
  readonly #kindsOf = new Map<string, number>();
  /** Refusals beyond the limits, which have one record a minute together. */
  #others = 0;
  #othersSince: number;
  #allowed = recordsAtOnce;
  #allowedAt: number;
  /** Since the start: those without a record of their own, for the metrics. */
  #repeated = 0;
  #withoutRoom = 0;
  /** Refusals without room that no record has reported. */
  #unreported = 0;

  /** `isShort`: the store has no room for refusals. */
  constructor(options: {
    readonly clock: Clock;
    readonly write: (facts: AuditFacts) => void;
    readonly isShort: () => boolean;
  }) {
    this.#clock = options.clock;
    this.#write = options.write;
    this.#isShort = options.isShort;
    this.#othersSince = this.#allowedAt = options.clock.monotonic();
  }

  counts(): { readonly repeated: number; readonly withoutRoom: number } {
    return { repeated: this.#repeated, withoutRoom: this.#withoutRoom };
  }

  /** A refusal of a known caller, which has a record of its own as long as there is room. */
  addKnown(facts: AuditFacts): void {
    if (this.#isShort()) this.#addWithoutRoom();
    else this.#write(facts);
  }

  /** `source`: the address of the caller, or the group of addresses that one caller can have. */
  add(facts: AuditFacts, source: string): void {
    if (this.#isShort()) {
      this.#addWithoutRoom();
      return;
    }
    const { route, code, status, principal } = facts;
    const kind = JSON.stringify([source, route, code, status, principal]);
    const counted = this.#kinds.get(kind);
    if (counted !== undefined) {
      counted.count += 1;
      this.#repeated += 1;
      return;
    }
    const ofSource = this.#kindsOf.get(source) ?? 0;
    if (this.#kinds.size >= maxKinds || ofSource >= kindsOfSource || !this.#take()) {
      this.#others += 1;
      this.#repeated += 1;
      return;
    }
    this.#kinds.set(kind, { source, facts, since: this.#clock.monotonic(), count: 0 });
    this.#kindsOf.set(source, ofSource + 1);
    this.#write(facts);
  }

  /** Records the counts that are due; `all`: also those whose minute has not passed. */
  recordCounts({ all = false } = {}): void {
    if (this.#isShort()) return;
    const now = this.#clock.monotonic();
    const isDue = (since: number): boolean => all || now - since >= countedFor;
    this.#reportWithoutRoom();
    for (const [kind, counted] of this.#kinds) {
      if (!isDue(counted.since)) continue;
      if (counted.count === 0) this.#forget(kind, counted);
      else this.#recordCount(counted, { all, now });
    }
    if (this.#others === 0 || !isDue(this.#othersSince)) return;
    const detail = 'refusals of several kinds';
    this.#write({ event: 'request', decision: 'denied', outcome: 'refused', count: this.#others, detail });
    this.#others = 0;
    this.#othersSince = now;
  }

  #recordCount(counted: Counted, { all, now }: { readonly all: boolean; readonly now: number }): void {
    if (this.#take() || all) this.#write(countedFacts(counted.facts, counted.count));
    else this.#others += counted.count;
    counted.since = now;
    counted.count = 0;
  }

  #addWithoutRoom(): void {
    this.#withoutRoom += 1;
    this.#unreported += 1;
  }

  #reportWithoutRoom(): void {
    if (this.#unreported === 0) return;
    const detail = `${this.#unreported} refusals were counted and not stored: the disk of the store was nearly full`;
    this.#write({ event: 'dropped', detail });
    this.#unreported = 0;
  }

  #forget(kind: string, { source }: Counted): void {
    this.#kinds.delete(kind);
    const left = (this.#kindsOf.get(source) ?? 0) - 1;
    if (left > 0) this.#kindsOf.set(source, left);
    else this.#kindsOf.delete(source);
  }

  /** True where one more record is allowed. */
  #take(): boolean {
    const now = this.#clock.monotonic();
    this.#allowed = Math.min(recordsAtOnce, this.#allowed + (now - this.#allowedAt) / recordEvery);
    this.#allowedAt = now;
    if (this.#allowed < 1) return false;
    this.#allowed -= 1;
    return true;
  }
}

/** What the counted refusals have in common. */
function countedFacts(first: AuditFacts, count: number): AuditFacts {
  const { requestId: _request, traceId: _trace, durationMs: _duration, address: _address, ...common } = first;
  return { ...common, count };
}
