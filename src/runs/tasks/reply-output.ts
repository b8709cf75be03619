import { isJson, readMediaType } from '#relay/media-type.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import { farSideError } from './call-failure.ts';
import { isJsonText } from './json-document.ts';
import type { PreparedCall } from './prepared-call.ts';
import { longestOutput, type TaskReply } from './task-reply.ts';

/** The output of a task. */
export function replyResult(prepared: PreparedCall, reply: TaskReply): OutsideResult {
  const { status } = reply;
  if (!prepared.accepts(status)) {
    const more = status < 400 ? ', and redirects are not accepted (redirect: true accepts them)' : '';
    return { kind: 'error', error: farSideError(status, `upstream-error: The far side answered ${status}${more}.`) };
  }
  const output = outputOf(prepared, reply);
  if (Buffer.byteLength(output) > longestOutput) return tooLong();
  return { kind: 'ok', output };
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
function contentOf({ headers, body, isBase64 }: TaskReply): string {
  if (body === '') return 'null';
  if (isBase64) return JSON.stringify(body);
  const type = headers['content-type'];
  const media = typeof type === 'string' ? readMediaType(type) : undefined;
  return media !== undefined && isJson(media) && isJsonText(body) ? body.trim() : JSON.stringify(body);
}
