import { errorCodes } from '#base/error-codes.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { type Cursor, fenced, offsetIn, pageOf, textDigest } from './fence.ts';

/** The one form of a result. */
export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  /** Small objects of the gateway itself alone. */
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: true;
  readonly [member: string]: unknown;
}

export function textResult(...texts: readonly string[]): ToolResult {
  return { content: [{ type: 'text', text: texts.join('\n') }] };
}

/** `more`: text for the model, after the object. */
export function objectResult(value: Readonly<Record<string, unknown>>, ...more: readonly string[]): ToolResult {
  const text = JSON.stringify(value);
  return { ...textResult(text, ...more), structuredContent: JSON.parse(text) as Record<string, unknown> };
}

/** A page of a text that others wrote, with the cursor of the next one and how to ask for less. */
export function fencedPage(
  bytes: Buffer,
  {
    source,
    cursor,
    key,
    narrow,
  }: { readonly source: string; readonly cursor: Cursor | undefined; readonly key?: string; readonly narrow: string },
): readonly string[] {
  const offset = offsetIn(bytes, cursor);
  const { text, next } = pageOf(bytes, { offset, digest: textDigest(bytes), key });
  if (next === undefined) return [fenced(text, source)];
  const last = offset + Buffer.byteLength(text);
  return [
    fenced(text, source),
    `These are the bytes ${offset} to ${last} of ${bytes.length}. For the next ones call again with the same arguments and cursor "${next}". ${narrow}`,
  ];
}

/** Codes whose sentences quote what an upstream or another person wrote. */
const quoting: ReadonlySet<string> = new Set(['approval-rejected', 'outcome-unknown', 'redirect-refused']);

/** Bytes of the upstream's reply that an error shows. */
const maxShown = 8_000;

/** The code, what is wrong and what to do instead. Texts of others are fenced. */
export function errorResult(error: GatewayError, ...advice: readonly string[]): ToolResult {
  const { code, errors = [], upstream, message } = error;
  const { title, status } = errorCodes[code];
  const isQuoting = quoting.has(code) || upstream !== undefined || status === 502 || status === 504;
  const said = isQuoting ? [fenced(cut(message), 'others')] : [message];
  const places = errors.map(({ pointer, detail }) => `- ${argumentOf(pointer)} ${detail}`);
  const answer =
    upstream?.body === undefined
      ? []
      : [`The orchestrator answered with the status ${upstream.status}.`, fenced(cut(upstream.body), 'the orchestrator')];
  const lines = [`Error ${code}: ${title}.`, ...said, ...places, ...answer, ...advice, ...adviceFor(error)];
  return { ...textResult(...lines), isError: true };
}

function cut(text: string): string {
  return Buffer.from(text)
    .subarray(0, maxShown)
    .toString()
    .replace(/\uFFFD+$/u, '');
}

/** Callers of tools have arguments, and no pointers. */
export function argumentOf(pointer: string): string {
  return pointer.replace(/^\/(?:params\/)?/u, '') || 'the arguments';
}

/** What to do instead, where the sentence of the error does not say it. */
function adviceFor({ code, headers }: GatewayError): readonly string[] {
  if (code === 'outcome-unknown')
    return ['Do not make the call again. Read the state with orchestrator_query, and tell a person.'];
  if (code === 'forbidden') return ['Your token does not have this right. Ask a person, and do not try another way.'];
  const wait = headers['Retry-After'];
  return wait === undefined ? [] : [`Try again in ${wait} s.`];
}
