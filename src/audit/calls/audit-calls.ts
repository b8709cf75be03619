import type { Clock } from '#base/clock.ts';
import type { EndCounter } from '#statistics/end-counter.ts';
import type { EndedWork } from '#statistics/rollup.ts';
import type { ApprovalFact, AuditFacts, EntryKind, IntentPlace } from '../audit-entry.ts';
import type { KeptBodies } from '../bodies/kept-bodies.ts';
import type { UnchainedEntry } from '../chain/hash-chain.ts';
import type { EntryQueue } from '../entry-queue.ts';
import type { createIdempotencyKeys, EarlierReply } from '../idempotency/idempotency-keys.ts';
import { type IdempotentRequest, type KeyChange, KeysTaken, PermitsLost } from '../idempotency/idempotent-request.ts';
import type { IntentPermit } from '../intent-permit.ts';
import { auditTermsOf } from '../search/audit-terms.ts';
import type { RecentCalls } from './recent-calls.ts';

/** Records calls and events. */
export interface AuditCalls {
  /**
   * Resolves once the intent is durable: then the call may leave. Rejects with 503 `audit-unavailable`: then it must not leave. So does a
   * `permit` that cannot be used any more, with what its `lost` answers. `sent`: what is about to be sent, as readers may see it.
   */
  intend(facts: AuditFacts, permit?: IntentPermit, sent?: string): Promise<Intended>;
  /**
   * As `intend`, for a call with an Idempotency-Key. All gateways together make at most one call for a key. If the call was made
   * before, resolves with its stored reply, or rejects with 409 or 422 if there is no reply to repeat. `permit` is asked once it is
   * known that there was no earlier call.
   */
  intendOnce(
    facts: AuditFacts,
    request: IdempotentRequest,
    permit?: () => Promise<IntentPermit | undefined>,
    sent?: string,
  ): Promise<Intended | EarlierReply>;
  /** Written within a second. If the store is away for long, the record is dropped and counted. */
  record(facts: AuditFacts): void;
  /** Resolves once all are durable. Rejects with 503 `audit-unavailable`: then some of them may be there. */
  prove(facts: readonly ApprovalFact[]): Promise<void>;
}

/** A call whose intent is durable and that has not ended. */
export interface Intended {
  /** Of its record: `CHAIN/SEQ`. */
  readonly id: string;
  /** The call is about to go to another address. Resolves and rejects as `intend`. */
  step(facts: AuditFacts): Promise<void>;
  /**
   * Resolves once the outcome is durable. If the store does not accept it, resolves too: the outcome is kept in memory until the
   * store does. Of a call of a run, it resolves at once. The outcome is durable with the next step of the run, or after
   * 100 ms. Nothing else learns of the reply before. `key`: the change to the idempotency key, if the call has one.
   */
  outcome(facts: AuditFacts, key?: KeyChange): Promise<void>;
  /**
   * Adds what became known after `outcome`, such as the size of a long reply, or that the reply was aborted. Written within a
   * second. `key` as in `outcome`.
   */
  amend(facts: AuditFacts, key?: KeyChange): void;
}

interface CallsOptions {
  /** Of this gateway. */
  readonly chain: string;
  readonly queue: EntryQueue;
  readonly clock: Clock;
  readonly recent: RecentCalls;
  readonly bodies: Pick<KeptBodies, 'of'>;
  readonly earlierReply: ReturnType<typeof createIdempotencyKeys>;
  readonly ends: Pick<EndCounter, 'add'>;
}

interface IntentOptions {
  readonly permit?: IntentPermit | undefined;
  readonly taken?: KeyChange;
  readonly sent?: string | undefined;
}

type Intend = (facts: AuditFacts, options: IntentOptions) => Promise<Intended>;

/** Turns calls into entries of the queue. */
export function createCalls(options: CallsOptions): AuditCalls {
  const { queue, clock, ends } = options;
  let calls = 0;
  const intend = createIntents(options, () => {
    calls += 1;
    return calls;
  });
  return {
    intend: (facts, permit, sent) => intend(facts, { permit, sent }),
    intendOnce: createOnce(options, intend),
    async prove(facts) {
      await Promise.all(facts.map((proof) => queue.writeAhead(entryOf(clock, 'proof', 0, { event: 'proof', proof }))));
    },
    record(facts) {
      const isCall = facts.event === 'request';
      if (isCall) calls += 1;
      const entry = entryOf(clock, 'record', isCall ? calls : 0, facts);
      queue.writeInBackground(entry);
      ends.add(endedCall(facts, entry.at, facts));
    },
  };
}

/** `next`: the number of a new call. */
function createIntents({ queue, clock, chain, recent, bodies, ends }: CallsOptions, next: () => number): Intend {
  return async (asked, { permit, taken, sent }) => {
    const { body, ...digests } = sent === undefined ? {} : bodies.of(sent, asked);
    const facts = { ...asked, ...digests };
    const call = next();
    const isOfRun = facts.via !== undefined;
    // What a permit uses is locked by others before claims of runs.
    const lane = isOfRun && permit === undefined ? 'runs' : 'calls';
    const place: IntentPlace = { at: 0, seq: 0 };
    try {
      await queue.writeAhead({ ...entryOf(clock, 'intent', call, facts, taken), intent: place, permit, body }, lane);
    } catch (error) {
      throw permit !== undefined && error instanceof PermitsLost ? await permit.lost() : error;
    }
    const kept = (made: UnchainedEntry): UnchainedEntry => {
      const entry = { ...made, intent: place };
      recent.add(entry);
      return entry;
    };
    // The use of an approval is not recorded again: a loss has ended every approval.
    kept(entryOf(clock, 'intent', call, { ...facts, proof: undefined }, taken));
    const counting = new CallCount(facts);
    const ending = (more: AuditFacts, key?: KeyChange): UnchainedEntry => {
      const entry = entryOf(clock, 'outcome', call, more, taken && key);
      ends.add(counting.ended(more, entry.at));
      return kept(entry);
    };
    return {
      id: `${chain}/${place.seq}`,
      step: (more) => queue.writeAhead(kept(entryOf(clock, 'step', call, more))),
      async outcome(more, key) {
        const entry = ending(more, key);
        // A key that is free again may be taken at once.
        if (isOfRun && key?.kind !== 'release') queue.writeInBackground(entry, 'soon');
        else await queue.writeAwaited(entry);
      },
      amend: (more, key) => queue.writeInBackground(ending(more, key)),
    };
  };
}

function createOnce({ earlierReply }: CallsOptions, intend: Intend): AuditCalls['intendOnce'] {
  return async (facts, request, askPermit, sent) => {
    const { id, fingerprint } = request;
    let permit: Promise<IntentPermit | undefined> | undefined;
    // A permit may be used up by an earlier call, which the look-up finds.
    for (let isNew = request.isNew === true && askPermit === undefined; ; isNew = false) {
      const earlier = isNew ? undefined : await earlierReply(request, { reads: facts.verb === 'GET' });
      if (earlier !== undefined) return earlier;
      permit ??= askPermit?.();
      try {
        return await intend(facts, { permit: await permit, taken: { kind: 'take', id, fingerprint, isNew }, sent });
      } catch (error) {
        // Another call took the key first: the next look-up finds that call.
        if (!(error instanceof KeysTaken)) throw error;
      }
    }
  };
}

export function entryOf(clock: Clock, kind: EntryKind, call: number, facts: AuditFacts, key?: KeyChange): UnchainedEntry {
  const { principal, adapter, proof } = facts;
  const terms = kind === 'step' || kind === 'proof' ? undefined : auditTermsOf(facts, kind === 'outcome');
  return { kind, call, at: clock.now(), principal, adapter, approval: proof?.approval, facts: JSON.stringify(facts), terms, key };
}

/** Routes of relayed calls, over HTTP and of runs. A preview leaves as a dry run, and is not counted. */
const relayed = /^(?!preview ).*\brest(?:Action|Call|Query|Request)\b/u;

/** What the statistics count of a record; empty where it is no call that ended. `of`: what is on record of the request. */
export function endedCall(
  { outcome, durationMs: duration = 0, count }: AuditFacts,
  at: number,
  of: Pick<AuditFacts, 'adapter' | 'route'>,
): readonly EndedWork[] {
  if (outcome === undefined || !relayed.test(of.route ?? '')) return [];
  return [{ kind: 'call', subject: of.adapter ?? '', status: outcome, at, duration, count }];
}

/** Counts a call once: what becomes known after its outcome replaces that. */
class CallCount {
  readonly #of: Pick<AuditFacts, 'adapter' | 'route'>;
  #counted: readonly EndedWork[] = [];

  constructor(of: Pick<AuditFacts, 'adapter' | 'route'>) {
    this.#of = of;
  }

  /** What to count now. */
  ended(facts: AuditFacts, at: number): readonly EndedWork[] {
    const ends = endedCall(facts, at, this.#of);
    const before = this.#counted;
    if (before[0]?.status === ends[0]?.status) return [];
    this.#counted = ends;
    return [...before.map((end) => ({ ...end, count: -1 })), ...ends];
  }
}
