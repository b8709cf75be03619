import { isJson, readMediaType } from '#relay/media-type.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import { farSideError } from './call-failure.ts';
import { jsonProblem, withoutMark } from './json-document.ts';
import type { PreparedCall } from './prepared-call.ts';
import { longestOutput, type TaskReply } from './task-reply.ts';

/** The output of a task. */
export function replyResult(prepared: PreparedCall, reply: TaskReply): OutsideResult {
  const { status } = reply;
  if (!prepared.accepts(status)) {
    const more = status < 400 ? ', and redirects are not accepted (redirect: true accepts them)' : '';
    return { kind: 'error', error: farSideError(status, `upstream-error: The far side answered ${status}${more}.`) };
  }
  const problem = prepared.output === 'raw' ? undefined : brokenJson(reply);
  if (problem !== undefined) return { kind: 'error', error: standardError('communication', 'The reply is no JSON', problem) };
  const output = outputOf(prepared, reply);
  if (Buffer.byteLength(output) > longestOutput) return tooLong();
  return { kind: 'ok', output };
}

/** Why a body is no JSON although its media type says so. The call has happened. */
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

/** The far side has answered, so that the call has happened. */
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

/** The body as a value: JSON as it was sent, other text or base64 as a string, nothing as null. */
function contentOf(reply: TaskReply): string {
  const { body, isBase64 } = reply;
  if (body === '') return 'null';
  return !isBase64 && saysJson(reply) ? withoutMark(body).trim() : JSON.stringify(body);
}
