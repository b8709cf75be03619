import { addressGroup } from '#access/passwords/login-throttle.ts';
import type { Principal } from '#access/principal.ts';
import type { CommitStamp } from '#adapters/commit-stamps.ts';
import type { CallerIdentity } from '#adapters/credentials/caller-identity.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Intended } from '#audit/calls/audit-calls.ts';
import type { IdempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import type { IntentPermit } from '#audit/intent-permit.ts';
import { stampLabel } from '#audit/search/audit-record.ts';
import { distinctDevices } from '#audit/search/changed-devices.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import type { RelayedCall } from '#relay/relayed-call.ts';
import type { ApprovalPermit } from './approval-check.ts';
import { type Attempted, AttemptObserver, type AttemptObservers } from './attempts.ts';
import type { CallAnswer } from './call-answer.ts';
import { type CallFacts, type Explanation, explanationOf } from './call-outcome.ts';
import { type CallResult, keyChange, readKeptReply } from './kept-reply.ts';
import { hasGrown, isOfUnknown, isRecorded, outcomeFacts, requestFacts, shorten, stampComment } from './record-facts.ts';

/** Where a request comes from: what its entrance knows of it. */
export interface CallOrigin {
  readonly requestId: string;
  readonly trace: TraceContext;
  /** The span of the request, where it is traced. */
  readonly span: Span | undefined;
  /** Undefined where no caller sent it, as in a run. */
  readonly sourceAddress: string | undefined;
  /** As the audit log names it, such as `POST /tools/restCall`; undefined where there is no such route. */
  readonly route: string | undefined;
  /** What the audit log names where the call notes no address of its own. */
  readonly address: string;
  /** True: every request of this route goes on record. False: only a refusal for who asked (401, 403) does. */
  readonly isRecorded: boolean;
}

interface CallRecordOptions {
  readonly origin: CallOrigin;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly observers: AttemptObservers;
  /** Replaces the values of secrets in what goes on record or into the log. */
  readonly mask?: (text: string) => string;
}

/** How the reply of a request ended. */
interface CallEnd {
  /** The status of the reply; undefined where the caller left before. */
  readonly status: number | undefined;
  /** Set where the caller left before the reply. */
  readonly left: CallerLeft | undefined;
}

/**
 * What is known of one request or call, and what the audit log holds of it. The intent goes on record before the call leaves, the outcome
 * before the caller gets the reply. It knows no HTTP.
 */
export class CallRecord {
  readonly clock: Clock;
  readonly mask: (text: string) => string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  principal: Principal = nobody;
  /** All members exist from the start, so that V8 keeps one hidden class. */
  readonly facts: CallFacts = {
    principal: undefined,
    adapter: undefined,
    verb: undefined,
    address: undefined,
    rule: undefined,
    automation: undefined,
    imported: undefined,
    workflow: undefined,
    run: undefined,
    via: undefined,
    client: undefined,
    actsAs: undefined,
    repeatable: undefined,
    preview: undefined,
    form: undefined,
    approval: undefined,
    upstreamStatus: undefined,
    replays: undefined,
    refusal: undefined,
    traffic: undefined,
  };
  /** The status of the reply, once there is one. */
  status: number | undefined;
  failure: GatewayError | undefined;
  /** The code of an error that is the answer again (Idempotency-Key). */
  replayedCode: string | undefined;
  /** The reply was not sent to its end: the caller left, or the gateway broke it off. */
  cutOff = false;
  /** The reply is kept under an Idempotency-Key. */
  isKept = false;
  /** Undefined where nothing was sent. */
  attempted: Attempted | undefined;
  /** Set by the entrance where the call came with an Idempotency-Key. */
  idempotent: IdempotentRequest | undefined;
  /** What it is about to send, as readers of the audit log may see it. */
  sent: string | undefined;
  /** Set where the commit of the call gets a stamp. */
  stamped: RelayedCall['stamp'];
  readonly #origin: CallOrigin;
  readonly #audit: AuditLog;
  readonly #observers: AttemptObservers;
  #intended: Intended | undefined;
  /** Of the approval that the call uses, if it needs one. */
  #permit: ApprovalPermit | undefined;
  /** Pending from when the intent goes on record until the outcome is; the caller may leave meanwhile. */
  #underWay: PromiseWithResolvers<void> | undefined;
  /** Bytes of the upstream's reply that the recorded outcome names. */
  #recordedBytes = 0;
  /** The recorded outcome is a success. */
  #recordedWell = false;
  #endedAt: number | undefined;

  constructor({ origin, audit, clock, observers, mask = (text) => text }: CallRecordOptions) {
    this.#origin = origin;
    this.#audit = audit;
    this.#observers = observers;
    this.clock = clock;
    this.mask = mask;
    this.startedAt = clock.monotonic();
  }

  get requestId(): string {
    return this.#origin.requestId;
  }

  get trace(): TraceContext {
    return this.#origin.trace;
  }

  get span(): Span | undefined {
    return this.#origin.span;
  }

  get adapter(): string | undefined {
    return this.facts.adapter;
  }

  get attempts(): AttemptObserver {
    return new AttemptObserver(this, this.#observers);
  }

  /** Milliseconds since the request began, to the end of its reply where it has ended. */
  get duration(): number {
    return (this.#endedAt ?? this.clock.monotonic()) - this.startedAt;
  }

  /** The reply is out, or its connection broke. */
  get hasEnded(): boolean {
    return this.#endedAt !== undefined;
  }

  /** The intent is on record, and no earlier call has the Idempotency-Key. */
  get isIntended(): boolean {
    return this.#intended !== undefined;
  }

  get identity(): CallerIdentity | undefined {
    const { actsAs, via, approval } = this.facts;
    return actsAs && { ...actsAs, run: via?.run, approval };
  }

  /** What the commit of the call gets. Undefined before the intent is on record. */
  get stamp(): CommitStamp | undefined {
    if (this.stamped === undefined || this.#intended === undefined) return undefined;
    return { label: stampLabel(this.#intended.id), comment: stampComment(this) };
  }

  /** The code of the error that was answered, where it was one. */
  get code(): string | undefined {
    return this.failure?.code ?? this.replayedCode;
  }

  /** Why the call failed, for the log; undefined where it did not. */
  get explanation(): Explanation | undefined {
    const hasFailed = this.code !== undefined || this.cutOff || this.facts.refusal !== undefined;
    return hasFailed ? explanationOf(this, this.#origin) : undefined;
  }

  note(facts: CallFacts): void {
    Object.assign(this.facts, facts);
    if (facts.principal !== undefined) this.principal = facts.principal;
  }

  /**
   * Puts the call on record before it may change anything. Rejects with 503 where that cannot be done. Resolves to the answer of an earlier
   * call where the Idempotency-Key makes that the answer. `admit`: asks for the approval that the call needs, and rejects where it has none.
   * Rejects with CallerLeft where the record was completed before, since a request has one record.
   */
  async intend(admit?: () => Promise<ApprovalPermit | undefined>): Promise<CallAnswer | undefined> {
    if (this.hasEnded) throw new CallerLeft();
    const facts = requestFacts(this, this.#origin);
    facts.stamp = this.#stampFacts();
    this.#underWay = Promise.withResolvers();
    const permit = async (): Promise<IntentPermit | undefined> => {
      this.#permit = await this.#admit(admit);
      facts.proof = this.#permit?.use;
      facts.devices = this.#permit?.devices && distinctDevices(this.#permit.devices);
      facts.approval = this.#permit?.id;
      this.note({ approval: facts.approval });
      facts.stamp = this.#stampFacts();
      return this.#permit?.withIntent;
    };
    try {
      const intended = await (this.idempotent === undefined
        ? this.#audit.intend(facts, admit && (await permit()), this.sent)
        : this.#audit.intendOnce(facts, this.idempotent, admit && permit, this.sent));
      this.sent = undefined;
      if (!('earlierReply' in intended)) {
        this.#intended = intended;
        this.#permit?.used();
        return undefined;
      }
      const { answer, requestId, code } = readKeptReply(intended.earlierReply);
      this.note({ replays: requestId });
      this.replayedCode = code;
      return answer;
    } finally {
      if (this.#intended === undefined) {
        await this.#permit?.release();
        this.#endWay();
      }
    }
  }

  #stampFacts(): AuditFacts['stamp'] {
    return this.stamped && { comment: this.mask(stampComment(this)), hasLabel: !this.stamped.hasOwnLabel };
  }

  /** The record of a refusal has the approval that is wanted, or that is over. */
  #admit(admit: (() => Promise<ApprovalPermit | undefined>) | undefined): Promise<ApprovalPermit | undefined> | undefined {
    return admit?.().catch((error: unknown) => {
      if (error instanceof GatewayError) this.note({ approval: error.approval?.id });
      throw error;
    });
  }

  /** A redirect leads the call to another address. Resolves once that is on record; rejects with 503 where it cannot be. */
  async redirected(address: string): Promise<void> {
    try {
      await this.#intended?.step({ event: 'request', address: this.mask(withMaskedQuery(address)) });
    } catch (error) {
      throw notFollowed(error);
    }
  }

  /** Puts on record what came of the call. Resolves once it is durable. */
  async recordOutcome(result: CallResult | typeof ownChange): Promise<void> {
    try {
      const isOwn = 'own' in result;
      const key = isOwn || this.idempotent === undefined ? undefined : this.#keyChange(result, this.idempotent);
      this.isKept = key?.kind === 'end' && key.reply !== undefined;
      const facts = outcomeFacts(this, 'failure' in result ? result.failure : undefined);
      this.#recordedBytes = facts.bytesReceived ?? 0;
      this.#recordedWell = !('failure' in result);
      // A change that the gateway made counts, even if its caller left before the reply.
      await this.#intended?.outcome(isOwn ? { ...facts, outcome: 'ok' } : facts, key);
      if ('failure' in result) await this.#releaseUnsent();
    } finally {
      this.#endWay();
    }
  }

  /** Where nothing left the gateway, the approval can be used again. */
  async #releaseUnsent(): Promise<void> {
    if (this.facts.traffic?.traffic.left !== true) await this.#permit?.release();
  }

  #keyChange(result: CallResult, request: IdempotentRequest): ReturnType<typeof keyChange> {
    return keyChange({
      result,
      request,
      requestId: this.requestId,
      facts: this.facts,
      mask: this.mask,
      mayKeep: (length) => this.#audit.keepsReply(length),
    });
  }

  #endWay(): void {
    this.#underWay?.resolve();
    this.#underWay = undefined;
  }

  /** Calls back once the call has ended. That is later than the reply where the caller left while the call goes on. */
  afterCall(callback: () => void): void {
    // The failure of the call is noted in a later iteration of the event loop.
    if (this.#underWay === undefined) callback();
    else void this.#underWay.promise.then(() => setImmediate(callback));
  }

  /** The reply is out, or its connection broke: puts on record what is not there yet, and does not wait for the store. */
  end({ status, left }: CallEnd): void {
    this.status = status;
    this.#endedAt = this.clock.monotonic();
    const failure = this.failure ?? left;
    if (this.#intended !== undefined) {
      // A long reply brought more bytes, or broke off.
      const brokeOff = this.#recordedWell ? this.failure : undefined;
      if (brokeOff !== undefined || hasGrown(this.#recordedBytes, this.facts)) {
        const key = brokeOff && this.idempotent && this.#keyChange({ failure: brokeOff }, this.idempotent);
        this.#intended.amend(outcomeFacts(this, failure), key);
      }
    } else if (isRecorded(this, this.#origin)) {
      this.#record(outcomeFacts(this, failure, requestFacts(this, this.#origin)));
    }
  }

  #record(facts: AuditFacts): void {
    if (isOfUnknown(this, facts)) this.#audit.recordRefusal(shorten(facts), addressGroup(this.#origin.sourceAddress ?? ''));
    else this.#audit.record(facts);
  }
}

/** The result of a change that the gateway made to itself: no call brought a reply. */
export const ownChange = { own: true } as const;

const nobody: Principal = { id: '', username: '', roles: [], groups: [] };

/** The first address had the call, so it would be wrong to say that nothing left. */
function notFollowed(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.code !== 'audit-unavailable') return error;
  const detail = 'Going on to the other address cannot be put on record, so nothing was sent there.';
  return new GatewayError('audit-unavailable', detail, { cause: error, headers: { 'Retry-After': '1' } });
}
