import type { ErrorCode } from '#base/error-codes.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { RenderedAnswer } from '#calls/call-answer.ts';
import { isJson, readMediaType } from '#relay/media-type.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import { headersForCaller } from '#relay/reply-headers.ts';
import { textStage } from '#relay/reply-text.ts';
import { base64Stage, type Stage, stagedBody } from '#relay/stage.ts';
import type { OutsideResult } from '../interpreter/state/run-events.ts';
import { callRefusal, type EffectError, isCallRefusal, standardError } from '../interpreter/task-error.ts';
import type { PreparedCall } from './arguments.ts';
import { jsonProblem, withoutMark } from './json-document.ts';

export interface TaskReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** The body is in base64: it is no text, or the task wants its bytes. */
  readonly isBase64: boolean;
}

export const maxOutputSize = 8 * 1024 ** 2;

/** White space around JSON goes, so that a longer body may be a short output. */
const maxBodySize = 2 * maxOutputSize;

/** Reads a reply to its end; undefined where it is too long for a run. Rejects where it breaks off. `asBytes`: always in base64. */
export async function readTaskReply(reply: CallReply, asBytes: boolean): Promise<TaskReply | undefined> {
  const inBase64 = (): Body => ({ stages: [base64Stage()], isBase64: true });
  const asText = (): Body | undefined => {
    const text = textStage(reply);
    return text && { stages: [text()], isBase64: false };
  };
  const { chosen, head, rest } = stagedBody(reply, asBytes ? [inBase64] : [asText, inBase64]);
  const parts = [head];
  let { length } = head;
  for await (const chunk of rest ?? []) {
    length += chunk.length;
    if (length > maxBodySize) return undefined;
    // A chunk is valid until the next one is asked for.
    parts.push(Buffer.from(chunk));
  }
  const body = Buffer.concat(parts).toString();
  return { status: reply.status, headers: headersForCaller(reply), body, isBase64: chosen.isBase64 };
}

interface Body {
  readonly stages: readonly Stage[];
  readonly isBase64: boolean;
}

/** A reply that an older gateway kept as JSON text for a task. */
export function readRenderedReply({ body: text }: RenderedAnswer): TaskReply {
  const { statusCode, headers, body, bodyEncoding } = JSON.parse(text) as {
    readonly statusCode: number;
    readonly headers: TaskReply['headers'];
    readonly body: string;
    readonly bodyEncoding?: 'base64';
  };
  return { status: statusCode, headers, body, isBase64: bodyEncoding !== undefined };
}

export interface CallFailure {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  /** The status of the upstream, where it is the error. */
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
  if (code === 'upstream-error') return upstreamError(upstreamStatus, text);
  if (isCallRefusal(code)) return callRefusal(code, text);
  if (code === 'adapter-not-found') return standardError('configuration', 'The adapter instance does not exist', text, status);
  if (code === 'upstream-timeout') return standardError('timeout', 'The upstream did not answer in time', text, status);
  if (code === 'internal-error') return standardError('runtime', 'The gateway failed', text);
  if (status === 401) return standardError('authentication', 'The call was refused', text);
  if (status === 403) return standardError('authorization', 'The call was refused', text);
  if (status < 500) return standardError('validation', 'The call cannot be made', text, status);
  return standardError('communication', 'The call failed', text, status);
}

function upstreamError(status: number, detail: string): EffectError {
  return standardError('communication', `The upstream answered ${status}`, detail, status);
}

export function replyResult(prepared: PreparedCall, reply: TaskReply): OutsideResult {
  const { status } = reply;
  if (!prepared.accepts(status)) {
    const more = status < 400 ? ', and redirects are not accepted (redirect: true accepts them)' : '';
    return { kind: 'error', error: upstreamError(status, `upstream-error: The upstream answered ${status}${more}.`) };
  }
  const problem = prepared.output === 'raw' ? undefined : brokenJson(reply);
  if (problem !== undefined) return { kind: 'error', error: standardError('communication', 'The reply is no JSON', problem) };
  const output = outputOf(prepared, reply);
  if (Buffer.byteLength(output) > maxOutputSize) return tooLong();
  return { kind: 'ok', output };
}

/** Why a body is no JSON although its media type says so. */
function brokenJson(reply: TaskReply): string | undefined {
  if (reply.body === '' || !saysJson(reply)) return undefined;
  const problem = reply.isBase64 ? 'it is not UTF-8' : jsonProblem(withoutMark(reply.body));
  return problem && `The call was made, but the body of its reply is no JSON, as its media type says: ${problem}`;
}

function saysJson({ headers }: TaskReply): boolean {
  const type = headers['content-type'];
  const media = typeof type === 'string' ? readMediaType(type) : undefined;
  return media !== undefined && isJson(media);
}

/** The upstream has answered, so that the call has happened. */
export function tooLong(): OutsideResult {
  const detail = 'response-too-large: The call was made, but its reply has more than the 8 MiB that a run may hold.';
  return { kind: 'error', error: standardError('runtime', 'The reply is too long for a run', detail) };
}

function outputOf({ output, request }: PreparedCall, reply: TaskReply): string {
  const content = contentOf(reply);
  if (output !== 'response') return content;
  const { status, headers } = reply;
  return `{"request":${JSON.stringify(request)},"statusCode":${status},"headers":${JSON.stringify(headers)},"content":${content}}`;
}

/** JSON as it was sent, other text or base64 as a string, nothing as null. */
function contentOf(reply: TaskReply): string {
  const { body, isBase64 } = reply;
  if (body === '') return 'null';
  return !isBase64 && saysJson(reply) ? withoutMark(body).trim() : JSON.stringify(body);
}
