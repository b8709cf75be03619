import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { GatheredBytes } from '#base/text/gathered-bytes.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { createProblemList } from '#json/forms/problem-list.ts';
import { schemaProblems } from '#json/forms/schema-problems.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/json-pointer.ts';
import { generateId, inputPointer, readImported, withInput } from '../automation-document.ts';
import { documentLimits } from '../automation-schema.ts';
import { documentText } from '../store/automation-row.ts';
import { type OtherLine, transferKinds } from './other-kinds.ts';

export interface NdjsonLine {
  /** From 1; blank lines count. */
  readonly number: number;
  /** Without its newline; undefined: over the limit. */
  readonly bytes: Buffer | undefined;
}

const newline = 0x0a;

/** Blank lines are skipped; the last line needs no newline. A line over `limit` bytes is not kept in memory. */
export async function* ndjsonLines(source: AsyncIterable<Buffer>, limit: number): AsyncGenerator<NdjsonLine, void, undefined> {
  let number = 1;
  const held = new GatheredBytes();
  let length = 0;
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length <= limit) held.add(piece);
    else held.take();
  };
  const endLine = (): NdjsonLine | undefined => {
    // A copy: a view would keep the whole chunk in memory, and the owner of the chunk may reuse it.
    const bytes = length > limit ? undefined : Buffer.from(held.take());
    const line = bytes !== undefined && isBlank(bytes) ? undefined : { number, bytes };
    number += 1;
    held.take();
    length = 0;
    return line;
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      const line = endLine();
      if (line !== undefined) yield line;
    }
    // The rest is copied for the same reason.
    if (start < chunk.length) take(Buffer.from(chunk.subarray(start)));
  }
  const last = endLine();
  if (last !== undefined) yield last;
}

/** JSON's white space alone (RFC 8259 2). */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** Bytes; a workflow of 1 MiB is longer as a text of JSON. */
export const lineLimit = 2 * 1024 ** 2;

type ReadLine =
  /** The document of an automation as it is stored. */
  { readonly text: Buffer } | { readonly other: OtherLine } | { readonly problems: readonly RequestProblem[] };

const opaqueInput = opaqueMembers([inputPointer]);
const opaqueMembersOfLine = opaqueMembers([inputPointer, '/document']);

export async function readLine({ bytes }: NdjsonLine): Promise<ReadLine> {
  if (bytes === undefined) return tooLong(lineLimit);
  return await withProblems(async () => {
    const envelope = readEnvelope(bytes, { opaque: opaqueMembersOfLine, sentAs: 'line' });
    const { value, spans } = envelope;
    return await (isKinded(value) ? readKinded(value, spans.get('/document')) : readAutomation(bytes, envelope));
  });
}

async function withProblems(read: () => Promise<ReadLine>): Promise<ReadLine> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GatewayError) return { problems: problemsOfError(error) };
    throw error;
  }
}

export function problemsOfError({ errors, message }: GatewayError): readonly RequestProblem[] {
  return errors ?? [{ pointer: '', detail: message }];
}

function tooLong(limit: number): { readonly problems: readonly RequestProblem[] } {
  return { problems: [{ pointer: '', detail: `is over ${limit} bytes; shorten the document` }] };
}

async function readAutomation(bytes: Buffer, envelope: ReturnType<typeof readEnvelope>): Promise<ReadLine> {
  if (bytes.length > documentLimits.document) return tooLong(documentLimits.document);
  const { value, problems } = withInput(envelope.value, envelope.spans);
  const read = await readImported(value);
  if ('problems' in read) return { problems: [...read.problems, ...problems] };
  if (problems.length > 0) return { problems };
  const text = Buffer.from(documentText({ ...read.automation, _id: read.automation._id ?? generateId() }));
  return text.length > documentLimits.document ? tooLong(documentLimits.document) : { text };
}

function isKinded(value: unknown): value is { readonly kind: unknown } {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'kind');
}

const document = Type.Object({});
const text = Type.String();

const problemsOfKind = {
  automation: schemaProblems(namedObject('AutomationLine', { kind: text, document })),
  form: schemaProblems(namedObject('FormLine', { kind: text, id: text, document })),
  workflow: schemaProblems(
    namedObject('WorkflowLine', {
      kind: text,
      id: text,
      version: text,
      mediaType: Type.Enum(['application/json', 'application/yaml']),
      text,
    }),
  ),
} as const;

async function readKinded(value: { readonly kind: unknown }, span: Buffer = Buffer.alloc(0)): Promise<ReadLine> {
  const kind = transferKinds.find((each) => each === value.kind);
  if (kind === undefined) return { problems: [{ pointer: '/kind', detail: `must be one of ${transferKinds.join(', ')}` }] };
  const problems = await problemsOfKind[kind](value);
  if (problems.length > 0) return { problems };
  if (kind !== 'automation') return { other: { ...value, ...(kind === 'form' && { document: span }) } as OtherLine };
  const read = await withProblems(async () => readAutomation(span, readEnvelope(span, { opaque: opaqueInput, sentAs: 'line' })));
  if (!('problems' in read)) return read;
  return { problems: read.problems.map(({ pointer, detail }) => ({ pointer: `/document${pointer}`, detail })) };
}

/** The file may be long, and its sender corrects all problems in one pass. */
const maxPlaces = 10_000;

export type LineFaults = ReturnType<typeof createLineFaults>;

/** Collects problems up to `maxPlaces`, and counts all bad lines. */
export function createLineFaults() {
  const list = createProblemList(maxPlaces);
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(line: number, problems: readonly RequestProblem[]): void {
      count += 1;
      for (const { pointer, detail } of problems) list.add(`/${line}${pointer}`, `line ${line}: ${detail}`);
    },
    error(code: ErrorCode): GatewayError {
      const lines = count === 1 ? 'A line' : `${count} lines`;
      return new GatewayError(code, `${lines} cannot be imported; nothing was changed.`, { errors: list.problems });
    },
  };
}
