import { isJson, readMediaType } from '#relay/media-type.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import { farSideError } from './call-failure.ts';
import { isJsonText } from './json-document.ts';
import type { PreparedCall } from './prepared-call.ts';

/** The reply of a far side, as `renderWhole` writes it. */
interface WholeAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  readonly bodyEncoding?: 'base64';
}

/** Bytes that a run may hold. */
export const longestOutput = 8 * 1024 ** 2;

/** The output of a task. `text`: what `renderWhole` wrote. */
export function replyResult(prepared: PreparedCall, text: string): OutsideResult {
  const answer = JSON.parse(text) as WholeAnswer;
  const { statusCode } = answer;
  if (!prepared.accepts(statusCode)) {
    const more = statusCode < 400 ? ', and redirects are not accepted (redirect: true accepts them)' : '';
    return { kind: 'error', error: farSideError(statusCode, `upstream-error: The far side answered ${statusCode}${more}.`) };
  }
  const output = outputOf(prepared, answer);
  if (Buffer.byteLength(output) > longestOutput) return tooLong();
  return { kind: 'ok', output };
}

/** The far side has answered, so that the call has happened. */
export function tooLong(): OutsideResult {
  const detail = 'response-too-large: The call was made, but its reply has more than the 8 MiB that a run may hold.';
  return { kind: 'error', error: standardError('runtime', 'The reply is too long for a run', detail) };
}

function outputOf({ output, request }: PreparedCall, answer: WholeAnswer): string {
  const content = contentOf(answer, output === 'raw');
  if (output !== 'response') return content;
  const { statusCode, headers } = answer;
  return `{"request":${JSON.stringify(request)},"statusCode":${statusCode},"headers":${JSON.stringify(headers)},"content":${content}}`;
}

/** The body as a value: JSON as it was sent, other text or base64 as a string, nothing as null. */
function contentOf({ headers, body, bodyEncoding }: WholeAnswer, raw: boolean): string {
  if (body === '') return 'null';
  if (raw || bodyEncoding !== undefined) return JSON.stringify(body);
  const type = headers['content-type'];
  const media = typeof type === 'string' ? readMediaType(type) : undefined;
  return media !== undefined && isJson(media) && isJsonText(body) ? body.trim() : JSON.stringify(body);
}
