import type { AuditLog } from '#audit/audit-log.ts';
import type { IdempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { exceptionFields } from '#base/exception-fields.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { ApprovalReference } from '#calls/approval-check.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import type { Call } from '#calls/call.ts';
import type { CallAnswer } from '#calls/call-answer.ts';
import type { CallContext } from '#calls/call-context.ts';
import { changeLeft } from '#calls/call-outcome.ts';
import type { CallPath } from '#calls/call-path.ts';
import { CallRecord } from '#calls/call-record.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import type { ToolRequest } from './agent-request.ts';

export interface EntranceNeeds {
  readonly calls: CallPath;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly observers: AttemptObservers;
  readonly log: Log;
  /** Counts a call that ended. `route`: `mcp` and the operation. */
  readonly callEnded: (route: string, record: CallRecord) => void;
  /** Replaces the values of secrets in what goes on record. */
  readonly mask: (text: string) => string;
}

/** Who enters: a message, or a task that was waiting for people. */
export interface Entering
  extends Pick<ToolRequest, 'principal' | 'client' | 'requestId' | 'trace' | 'span' | 'signal' | 'whenStopping'> {
  readonly sourceAddress: string | undefined;
  /** See CallContext. */
  readonly isRemembered?: true | undefined;
  /** See CallContext. */
  readonly stored?: (() => Promise<boolean>) | undefined;
  /** Gets what says whether the call may have left. */
  readonly watch?: ((mayHaveLeft: () => boolean) => void) | undefined;
}

interface EnteringCall {
  readonly call: Call;
  readonly approval?: ApprovalReference | undefined;
  readonly idempotent?: IdempotentRequest | undefined;
  /** True: only the reply of an earlier call is wanted, and no call is made. */
  readonly onlyAgain?: boolean | undefined;
}

/** Work that goes on record under the name of an operation, even if it is refused. `isRecorded`: see CallOrigin. */
export async function onRecord<T>(
  operation: string,
  entering: Entering,
  { isRecorded, ...needs }: EntranceNeeds & { readonly isRecorded: boolean },
  work: (record: CallRecord) => Promise<T>,
): Promise<T> {
  const { requestId, trace, span, sourceAddress, principal, client } = entering;
  const { audit, clock, observers, mask } = needs;
  const route = `mcp ${operation}`;
  const origin = { requestId, trace, span, sourceAddress, route, address: '', isRecorded };
  const record = new CallRecord({ origin, audit, clock, observers, mask });
  record.principal = principal;
  record.note({ client });
  const ending: { left?: CallerLeft; status?: number } = {};
  try {
    const result = await work(record);
    ending.status = 200;
    return result;
  } catch (thrown) {
    if (thrown instanceof CallerLeft || entering.signal.aborted) ending.left = new CallerLeft();
    const failure = thrown instanceof GatewayError ? thrown : unexpected(thrown, record, needs);
    record.failure = failure;
    if (ending.left === undefined) ending.status = failure.status;
    throw failure;
  } finally {
    record.afterCall(() => {
      record.end({ status: ending.status, left: ending.left });
      if (record.facts.verb !== undefined) needs.callEnded(route, record);
    });
  }
}

/** Takes a call over the path: this is the entrance of agents. `read`: reads the reply to its end. Rejects with a GatewayError. */
export async function enterCall<T>(
  { call, approval, idempotent, onlyAgain }: EnteringCall,
  entering: Entering,
  needs: EntranceNeeds,
  read: (reply: CallReply) => Promise<T>,
): Promise<T> {
  return await onRecord(call.operation, entering, { ...needs, isRecorded: true }, async (record) => {
    record.idempotent = idempotent;
    entering.watch?.(() => record.facts.traffic?.traffic.left === true);
    const life = new CallLife(record, entering);
    const context: CallContext = {
      record,
      via: ['mcp'],
      approval: { ...approval, client: entering.client },
      isRemembered: entering.isRemembered,
      ...(entering.stored && { stored: entering.stored }),
      wait: undefined,
      ...(onlyAgain === true && { mayLeave: () => false }),
      whenEnded: (callback) => life.whenEnded(callback),
      whenStopping: (callback) => entering.whenStopping(callback),
    };
    try {
      const result = await readAnswer(await needs.calls.perform(call, context), read);
      life.end(true);
      return result;
    } catch (thrown) {
      life.end(false);
      throw thrown;
    }
  });
}

async function readAnswer<T>(answer: CallAnswer, read: (reply: CallReply) => Promise<T>): Promise<T> {
  if (answer.kind === 'reply') return await read(answer.reply);
  if (answer.kind === 'error') throw answer.error;
  throw new GatewayError('reply-not-kept', 'The reply was kept in a form that is not known here.');
}

function unexpected(thrown: unknown, record: CallRecord, { log }: EntranceNeeds): GatewayError {
  if (!(thrown instanceof CallerLeft))
    log.error('a call of an agent failed unexpectedly', { requestId: record.requestId, ...exceptionFields(thrown) });
  const code = changeLeft(record.facts) ? 'outcome-unknown' : 'internal-error';
  return new GatewayError(code, `The gateway failed on this call. Its log has the cause under ${record.requestId}.`, {
    cause: thrown,
  });
}

/** Tells the call path when its caller has its reply, or left. */
class CallLife {
  readonly #record: CallRecord;
  readonly #signal: AbortSignal;
  #whenEnded: (complete: boolean) => void = () => {};
  readonly #leave = (): void => {
    this.#record.cutOff = true;
    this.end(false);
  };

  constructor(record: CallRecord, { signal }: Pick<Entering, 'signal'>) {
    this.#record = record;
    this.#signal = signal;
    signal.addEventListener('abort', this.#leave, { once: true });
  }

  whenEnded(callback: (complete: boolean) => void): void {
    if (this.#signal.aborted) callback(false);
    else this.#whenEnded = callback;
  }

  end(complete: boolean): void {
    this.#signal.removeEventListener('abort', this.#leave);
    this.#whenEnded(complete);
    this.#whenEnded = () => {};
  }
}
