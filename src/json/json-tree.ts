import { setImmediate } from 'node:timers/promises';
import { pointerTo } from './json-pointer.ts';
import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from './json-scanner.ts';
import type { OpaqueMember } from './opaque-member.ts';

/** A lossless JSON value: members keep their order and repetitions, and numbers keep their text. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' };

export type JsonMember = readonly [name: string, value: JsonNode];

interface JsonTreeOptions {
  /** Deeper nesting throws. Default: 128. */
  readonly maxDepth?: number;
  /** Values that are not parsed: the tree has an empty value of the same kind in their place. */
  readonly opaque?: readonly OpaqueMember[];
  /** The most values allowed; an opaque value counts as one. A text with more is refused with the kind `size`. */
  readonly maxValues?: number;
}

/** Parses a complete text of UTF-8. Throws JsonSyntaxError if it is not JSON, or nested deeper than `maxDepth`. */
export function readJsonTree(bytes: Buffer, options: JsonTreeOptions = {}): JsonNode {
  return new JsonTreeReader(bytes, options).read();
}

/** Bytes that take about a millisecond to parse. */
const step = 262_144;

interface OpenContainer {
  readonly outer: OpenContainer | undefined;
  /** Its name in `outer`, if `outer` is an object. */
  readonly key: string;
  /** The opaque values inside this container. */
  readonly opaque: readonly OpaqueMember[];
  readonly node:
    | { readonly kind: 'object'; readonly members: JsonMember[] }
    | { readonly kind: 'array'; readonly items: JsonNode[] };
}

const empties: Readonly<Record<JsonNode['kind'], JsonNode>> = {
  object: { kind: 'object', members: [] },
  array: { kind: 'array', items: [] },
  string: { kind: 'string', value: '' },
  number: { kind: 'number', text: '0' },
  boolean: { kind: 'boolean', value: true },
  null: { kind: 'null' },
};

const noSpans: ReadonlyMap<string, Buffer> = new Map();

/** Parses one text. Beyond the tree, it has the bytes of the opaque values and the place of a fault. */
export class JsonTreeReader implements JsonHandler {
  readonly #bytes: Buffer;
  readonly #text: string | undefined;
  readonly #opaque: readonly OpaqueMember[];
  readonly #scanner: JsonScanner;
  readonly #maxValues: number;
  #spans: Map<string, Buffer> | undefined;
  /** The innermost open container. */
  #container: OpenContainer | undefined;
  #root: JsonNode = empties.null;
  #count = 0;
  #key = '';
  #start = 0;
  /** The opaque value that is being skipped, and where it begins. */
  #skipped: OpaqueMember | undefined;
  #opaqueStart = 0;

  constructor(bytes: Buffer, options: JsonTreeOptions) {
    this.#bytes = bytes;
    this.#text = textByBytes(bytes);
    this.#opaque = options.opaque ?? [];
    this.#maxValues = options.maxValues ?? Infinity;
    this.#scanner = new JsonScanner({ maxDepth: options.maxDepth ?? 128, eventDepth: Infinity, handler: this });
  }

  /** The place being parsed: the skipped opaque value, else the innermost open container. */
  get pointer(): string {
    return this.#skipped?.pointer ?? pointerOf(this.#container);
  }

  /** The bytes of the opaque values by pointer: views, not copies. */
  get spans(): ReadonlyMap<string, Buffer> {
    return this.#spans ?? noSpans;
  }

  read(): JsonNode {
    this.#scanner.push(this.#bytes);
    this.#scanner.end();
    return this.#root;
  }

  /** As `read`, but lets the event loop continue after each step. */
  async readInSteps(): Promise<JsonNode> {
    for (let start = 0; start < this.#bytes.length; start += step) {
      this.#scanner.push(this.#bytes.subarray(start, start + step));
      await setImmediate();
    }
    this.#scanner.end();
    return this.#root;
  }

  begin(kind: JsonSpanKind, start: number, level: number): void {
    this.#start = start;
    if (kind === 'key') return;
    const opaque = this.#opaqueInNext(level);
    const skipped = opaque.length === 0 ? undefined : endingAt(level, opaque);
    if (skipped !== undefined) {
      this.#skipped = skipped;
      this.#opaqueStart = start;
      this.#scanner.eventDepth = level;
    } else if (kind === 'object' || kind === 'array') {
      const node = kind === 'object' ? { kind, members: [] } : { kind, items: [] };
      this.#container = { outer: this.#container, key: this.#key, opaque, node };
    }
  }

  end(kind: JsonSpanKind, end: number): void {
    if (kind === 'key') this.#key = this.#string(end);
    else if (this.#skipped !== undefined) this.#endOpaque(this.#skipped, kind, end);
    else this.#add(kind === 'object' || kind === 'array' ? this.#closed() : this.#leaf(kind, end));
  }

  #endOpaque({ pointer }: OpaqueMember, kind: JsonNode['kind'], end: number): void {
    this.#spans ??= new Map();
    this.#spans.set(pointer, this.#bytes.subarray(this.#opaqueStart, end));
    this.#skipped = undefined;
    this.#scanner.eventDepth = Infinity;
    this.#add(empties[kind]);
  }

  #closed(): JsonNode {
    const container = this.#container;
    if (container === undefined) return empties.null;
    this.#container = container.outer;
    this.#key = container.key;
    return container.node;
  }

  #leaf(kind: 'string' | 'number' | 'boolean' | 'null', end: number): JsonNode {
    if (kind === 'string') return { kind, value: this.#string(end) };
    if (kind === 'number') return { kind, text: this.#written(this.#start, end) };
    return kind === 'boolean' ? { kind, value: this.#bytes[this.#start] === 0x74 } : empties.null;
  }

  /** The value of the string that ends at `end`. */
  #string(end: number): string {
    return unescaped(this.#written(this.#start + 1, end - 1));
  }

  #written(start: number, end: number): string {
    if (end - start < sliceLimit && this.#text !== undefined) return this.#text.slice(start, end);
    return this.#bytes.toString('utf8', start, end);
  }

  #add(node: JsonNode): void {
    this.#count += 1;
    if (this.#count > this.#maxValues) throw new JsonSyntaxError('size', `has more than ${this.#maxValues} values`, this.#start);
    const container = this.#container;
    if (container === undefined) this.#root = node;
    else if (container.node.kind === 'array') container.node.items.push(node);
    else container.node.members.push([this.#key, node]);
  }

  /** The opaque values that are inside the next value at this level, or are that value itself. */
  #opaqueInNext(level: number): readonly OpaqueMember[] {
    const container = this.#container;
    if (container === undefined) return this.#opaque;
    if (container.opaque.length === 0) return container.opaque;
    return leadingTo(String(segmentIn(container, this.#key)), level, container.opaque);
  }
}

/** The opaque values whose pointer has this name or index at `level`. */
function leadingTo(segment: string, level: number, opaque: readonly OpaqueMember[]): readonly OpaqueMember[] {
  return opaque.filter(({ segments }) => segments[level - 2] === segment);
}

function endingAt(level: number, opaque: readonly OpaqueMember[]): OpaqueMember | undefined {
  return opaque.find(({ segments }) => segments.length === level - 1);
}

/**
 * Substrings of at least this length are views in V8. A view keeps the whole text alive, and JSON.stringify takes three times as
 * long for it.
 */
const sliceLimit = 13;
/** Bytes. Longer bodies are not converted to one string. */
const textLimit = 4_096;

/**
 * The text as a string if it is short and each byte is one character, as in ASCII; else undefined. A substring takes a seventh of
 * the time that decoding the bytes takes.
 */
function textByBytes(bytes: Buffer): string | undefined {
  if (bytes.length > textLimit) return undefined;
  const text = bytes.toString();
  return text.length === bytes.length ? text : undefined;
}

function pointerOf(container: OpenContainer | undefined): string {
  // The outermost container has no name.
  if (container?.outer === undefined) return '';
  return pointerTo(pointerOf(container.outer), segmentIn(container.outer, container.key));
}

/** The name or index of the value in a container that is parsed now or next. */
function segmentIn({ node }: OpenContainer, key: string): string | number {
  return node.kind === 'array' ? node.items.length : key;
}

/** The value of a valid JSON string without its quotes. Lone surrogates remain. */
function unescaped(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
}
