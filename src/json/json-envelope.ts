import { isUtf8 } from 'node:buffer';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { createProblemList, type ProblemList } from './forms/problem-list.ts';
import { type OpaqueMember, pointerTo } from './json-pointer.ts';
import { JsonSyntaxError } from './json-scanner.ts';
import { type JsonMember, type JsonNode, JsonTreeReader } from './json-tree.ts';
import { exactNumber } from './parse-json.ts';

const maxDepth = 128;
/** A relayed member counts as one. Every schema allows far fewer. */
const maxValues = 10_000;

interface EnvelopeOptions {
  readonly sentAs?: 'body' | 'line';
  readonly opaque: readonly OpaqueMember[];
  /** Numbers that a double would change become raw JSON (parse-json.ts). */
  readonly exactNumbers?: true;
  /** Further problems, reported together with those of the text. */
  readonly alsoWrong?: (envelope: JsonEnvelope) => readonly RequestProblem[];
}

interface JsonEnvelope {
  /** A relayed member is an empty value of its kind, for its schema. */
  readonly value: unknown;
  /** Relayed bytes by pointer: views, not copies. */
  readonly spans: ReadonlyMap<string, Buffer>;
}

/** Rejects with `invalid-json`: no body, a byte order mark, no UTF-8, bad syntax, deeper than 128. Outside relayed members also duplicate names, lone surrogates, `__proto__` and `constructor.prototype`, all in one error. */
export function readEnvelope(bytes: Buffer, options: EnvelopeOptions): JsonEnvelope {
  const reader = openReader(bytes, options);
  try {
    return envelopeOf(reader.read(), reader.spans, options);
  } catch (error) {
    return refuseSyntax(error, reader, bytes, options);
  }
}

/** The event loop continues between steps. */
export async function readEnvelopeInSteps(bytes: Buffer, options: EnvelopeOptions): Promise<JsonEnvelope> {
  const reader = openReader(bytes, options);
  try {
    return envelopeOf(await reader.readInSteps(), reader.spans, options);
  } catch (error) {
    return refuseSyntax(error, reader, bytes, options);
  }
}

function openReader(bytes: Buffer, { opaque, sentAs }: EnvelopeOptions): JsonTreeReader {
  checkText(bytes, sentAs);
  return new JsonTreeReader(bytes, { maxDepth, maxValues, opaque });
}

function envelopeOf(tree: JsonNode, spans: ReadonlyMap<string, Buffer>, options: EnvelopeOptions): JsonEnvelope {
  const list = createProblemList();
  const value = plainValue(
    tree,
    { outer: undefined, segment: '' },
    { list, numberOf: options.exactNumbers === true ? exactNumber : Number },
  );
  const problems = list.problems;
  if (problems.length > 0) {
    const places = problems.length === 1 ? 'in one place' : `in ${problems.length} places`;
    throw new GatewayError(
      'invalid-json',
      `The ${options.sentAs ?? 'body'} is JSON that could be read in two ways ${places}: correct what "errors" lists.`,
      {
        errors: [...problems, ...(options.alsoWrong?.({ value, spans }) ?? [])],
      },
    );
  }
  return { value, spans };
}

function refuse(message: string, pointer = ''): never {
  throw new GatewayError('invalid-json', message, { errors: [{ pointer, detail: message }] });
}

function checkText(bytes: Buffer, sentAs = 'body'): void {
  if (bytes.length === 0) refuse('The request has no body: send a JSON object.');
  // RFC 8259, section 8.1.
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    refuse(`The ${sentAs} begins with a byte order mark: send UTF-8 without one.`);
  }
  if (!isUtf8(bytes)) refuse(`The ${sentAs} is not UTF-8 at byte ${invalidUtf8Offset(bytes)}: encode it as UTF-8.`);
}

function refuseSyntax(error: unknown, reader: JsonTreeReader, bytes: Buffer, { sentAs = 'body' }: EnvelopeOptions): never {
  if (!(error instanceof JsonSyntaxError)) throw error;
  const { line, column } = placeOf(bytes, error.offset);
  // Of a single line the caller reports the number.
  const place = `${sentAs === 'body' ? `line ${line}, ` : ''}column ${column} (byte ${error.offset})`;
  const advice = error.kind === 'depth' ? 'flatten it' : 'correct it there';
  return refuse(`The ${sentAs} is not acceptable JSON: ${error.message}, at ${place}: ${advice}.`, reader.pointer);
}

/** From 1. A column is a character. */
function placeOf(bytes: Buffer, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let lineStart = 0;
  // indexOf takes half a second for 10 MiB of line feeds.
  for (let at = 0; at < offset; at++) {
    if (bytes[at] !== 0x0a) continue;
    line++;
    lineStart = at + 1;
  }
  let column = 1;
  for (let i = lineStart; i < offset; i++) if (((bytes[i] ?? 0) & 0xc0) !== 0x80) column++;
  return { line, column };
}

/** By binary search. */
function invalidUtf8Offset(bytes: Buffer): number {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 8) {
    let middle = (valid + invalid) >>> 1;
    // Back to the first byte of a character.
    for (let i = 0; i < 3 && ((bytes[middle] ?? 0) & 0xc0) === 0x80; i++) middle--;
    if (isUtf8(bytes.subarray(valid, middle))) valid = middle;
    else invalid = middle;
  }
  let longest = valid;
  for (let end = valid; end <= invalid; end++) if (isUtf8(bytes.subarray(valid, end))) longest = end;
  return longest;
}

/** Its pointer is computed once, if a problem needs it: a hostile body has thousands of deep places. */
interface Place {
  readonly outer: Place | undefined;
  /** In `outer`. */
  readonly segment: string | number;
  pointer: string | undefined;
}

/** The outermost value has no `outer`. */
function pointerIn(outer: Place | undefined, segment: string | number): string {
  if (outer === undefined) return '';
  outer.pointer ??= pointerIn(outer.outer, outer.segment);
  return pointerTo(outer.pointer, segment);
}

interface Reading {
  readonly list: ProblemList;
  readonly numberOf: (text: string) => unknown;
}

/** Never assigns names that would reach a prototype. */
function plainValue(node: JsonNode, at: Pick<Place, 'outer' | 'segment'>, reading: Reading): unknown {
  switch (node.kind) {
    case 'object':
      return plainObject(node.members, { ...at, pointer: undefined }, reading);
    case 'array': {
      const outer = { ...at, pointer: undefined };
      return node.items.map((item, index) => plainValue(item, { outer, segment: index }, reading));
    }
    case 'string':
      // Only an escape can make one, as the bytes are UTF-8.
      if (!node.value.isWellFormed())
        reading.list.add(
          pointerIn(at.outer, at.segment),
          'Contains a lone surrogate escape:  write both halves, or another character.',
        );
      return node.value;
    case 'number':
      return reading.numberOf(node.text);
    case 'boolean':
      return node.value;
    case 'null':
      break;
  }
  return null;
}

function plainObject(members: readonly JsonMember[], place: Place, reading: Reading): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const entry of members) {
    // Destructuring makes an iterator and three objects for each entry, before V8 optimizes it.
    const name = entry[0];
    const member = entry[1];
    const plain = plainValue(member, { outer: place, segment: name }, reading);
    if (name === '__proto__')
      reading.list.add(pointerIn(place, name), 'The name __proto__ is not accepted: leave the member out.');
    else if (Object.hasOwn(value, name))
      reading.list.add(pointerIn(place, name), 'The name is given more than once in one object: give it once.');
    else if (!name.isWellFormed())
      reading.list.add(pointerIn(place, name).toWellFormed(), 'The name contains a lone surrogate escape:  rename it.');
    else value[name] = plain;
    if (name === 'constructor' && hasPrototype(member)) {
      reading.list.add(`${pointerIn(place, name)}/prototype`, 'constructor.prototype is not accepted: leave the member out.');
    }
  }
  return value;
}

function hasPrototype(node: JsonNode): boolean {
  return node.kind === 'object' && node.members.some(([name]) => name === 'prototype');
}
