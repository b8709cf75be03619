import { errorCodes } from '#base/error-codes.ts';
import type { GatewayError, RequestProblem } from '#base/gateway-error.ts';
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

/**
 * An object with names that people wrote. In `structuredContent` they are exact, for programs that compare them. The text is in a fence.
 * `described`: the object with what people wrote about these names, for the text alone.
 */
export function objectOfOthers(
  value: Readonly<Record<string, unknown>>,
  {
    described = value,
    more = [],
  }: { readonly described?: Readonly<Record<string, unknown>>; readonly more?: readonly string[] } = {},
): ToolResult {
  const text = fenced(JSON.stringify(described), 'the gateway, with texts that people wrote');
  return { ...textResult(text, ...more), structuredContent: JSON.parse(JSON.stringify(value)) as Record<string, unknown> };
}

/** A page of a text that others wrote, with the cursor of the next one and how to ask for less. `most`: bytes of the page. */
export function fencedPage(
  bytes: Buffer,
  {
    source,
    cursor,
    key,
    narrow,
    most,
  }: {
    readonly source: string;
    readonly cursor: Cursor | undefined;
    readonly key?: string;
    readonly narrow: string;
    readonly most?: number;
  },
): readonly string[] {
  const offset = offsetIn(bytes, cursor);
  const { text, next } = pageOf(bytes, { offset, digest: textDigest(bytes), key, most });
  if (next === undefined) return [fenced(text, source)];
  const last = offset + Buffer.byteLength(text);
  return [
    fenced(text, source),
    `These are the bytes ${offset} to ${last} of ${bytes.length}. For the next ones call again with the same arguments and cursor "${next}". ${narrow}`,
  ];
}

/** Codes whose sentences quote what an upstream or another person wrote. */
const quoting: ReadonlySet<string> = new Set([
  'adapter-unavailable',
  'approval-rejected',
  'delegation-lost',
  'outcome-unknown',
  'redirect-refused',
  'run-conflict',
  'version-superseded',
  'workflow-not-found',
]);

/** Bytes of the upstream's reply that an error shows. */
const maxShown = 8_000;

/** The code, what is wrong and what to do instead. Texts of others are fenced. */
export function errorResult(error: GatewayError, ...advice: readonly string[]): ToolResult {
  const { code, errors = [], upstream, message } = error;
  const { title } = errorCodes[code];
  const said = isQuoting(error) ? [fenced(cut(message), 'others')] : [message];
  // An argument has a name. A pointer leads into an input, which the form and the schema of an author judge.
  const [authored, own] = [errors.filter(isPointer), errors.filter((place) => !isPointer(place))];
  const places = own.map(({ pointer, detail }) => `- ${pointer} ${detail}`);
  if (authored.length > 0) {
    const list = authored.map(({ pointer, detail }) => `- ${argumentOf(pointer)} ${detail}`).join('\n');
    places.push(fenced(cut(list), 'the form and the schema of the input'));
  }
  const answer =
    upstream?.body === undefined
      ? []
      : [`The orchestrator answered with the status ${upstream.status}.`, fenced(cut(upstream.body), 'the orchestrator')];
  const lines = [`Error ${code}: ${title}.`, ...said, ...places, ...answer, ...advice, ...adviceFor(error)];
  return { ...textResult(...lines), isError: true };
}

/** The log does not quote others either. */
function isQuoting({ code, upstream, message, logged }: GatewayError): boolean {
  const { status } = errorCodes[code];
  return quoting.has(code) || upstream !== undefined || status === 502 || status === 504 || logged !== message;
}

/** An error where there is no place for a fence. */
export function sentenceOf(error: GatewayError): string {
  return `${error.code}: ${isQuoting(error) ? errorCodes[error.code].title : error.message}`;
}

function isPointer({ pointer }: RequestProblem): boolean {
  return pointer === '' || pointer.startsWith('/');
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
