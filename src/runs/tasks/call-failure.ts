import type { ErrorCode } from '#base/error-codes.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { callRefusal, type EffectError, isCallRefusal, standardError } from '../interpreter/task-error.ts';

/** An error of the error table as a run keeps it. */
export interface CallFailure {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  /** The status of the far side, where it is the error. */
  readonly upstreamStatus?: number;
}

export function callFailure({ code, status, message, upstream }: GatewayError): CallFailure {
  const answered = code === 'upstream-error' ? upstream : undefined;
  return { code, status, detail: message, ...(answered !== undefined && { upstreamStatus: answered.status }) };
}

/** Codes after which a call may have happened, and no reply is left to take. */
const unknownCodes: ReadonlySet<ErrorCode> = new Set(['outcome-unknown', 'reply-not-kept']);

export function failedResult(failure: CallFailure): OutsideResult {
  if (unknownCodes.has(failure.code)) return { kind: 'unknown', detail: `${failure.code}: ${failure.detail}` };
  return { kind: 'error', error: failureError(failure) };
}

/** The failure of a call that changes nothing: it may be made again after any end. */
export function failedReading(failure: CallFailure): OutsideResult {
  return { kind: 'error', error: failureError(failure) };
}

/** The error of the DSL. Its detail begins with the code, so that a `catch` can tell the refusals of the gateway apart. */
function failureError({ code, status, detail, upstreamStatus = status }: CallFailure): EffectError {
  const text = `${code}: ${detail}`;
  if (code === 'upstream-error') return farSideError(upstreamStatus, text);
  if (isCallRefusal(code)) return callRefusal(code, text);
  if (code === 'adapter-not-found') return standardError('configuration', 'The adapter instance does not exist', text, status);
  if (code === 'upstream-timeout') return standardError('timeout', 'The far side did not answer in time', text, status);
  if (code === 'internal-error') return standardError('runtime', 'The gateway failed', text);
  if (status === 401) return standardError('authentication', 'The call was refused', text);
  if (status === 403) return standardError('authorization', 'The call was refused', text);
  if (status < 500) return standardError('validation', 'The call cannot be made', text, status);
  return standardError('communication', 'The call failed', text, status);
}

/** The error for a status of the far side. */
export function farSideError(status: number, detail: string): EffectError {
  return standardError('communication', `The far side answered ${status}`, detail, status);
}
