import { setImmediate } from 'node:timers/promises';
import { pointerTo } from './json-pointer.ts';
import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from './json-scanner.ts';
import type { OpaqueMember } from './opaque-member.ts';

/** A JSON value without loss: members keep their order and their repetitions, numbers their text. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' };

export type JsonMember = readonly [name: string, value: JsonNode];

interface JsonTreeOptions {
  /** Nesting beyond this throws; 128 unless given. */
  readonly maxDepth?: number;
  /** Values that are not read: they stand in the tree as an empty value of their kind. */
  readonly opaque?: readonly OpaqueMember[];
  /** Most values, opaque ones counted once; a text with more is refused with the kind `size`. */
  readonly maxValues?: number;
}

/** Reads a whole text of UTF-8. Throws JsonSyntaxError where it is not JSON or nested deeper than `maxDepth`. */
export function readJsonTree(bytes: Buffer, options: JsonTreeOptions = {}): JsonNode {
  return new JsonTreeReader(bytes, options).read();
}

/** Bytes that take about a millisecond. */
const step = 262_144;

interface OpenContainer {
  readonly outer: OpenContainer | undefined;
  /** The name that it stands under, where it is a member. */
  readonly key: string;
  /** Those of the opaque values that are somewhere inside it. */
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

/** One reading of a text, for those who want more than its tree: the bytes of opaque values, and the place of a fault. */
export class JsonTreeReader implements JsonHandler {
  readonly #bytes: Buffer;
  readonly #text: string | undefined;
  readonly #opaque: readonly OpaqueMember[];
  readonly #scanner: JsonScanner;
  readonly #maxValues: number;
  #spans: Map<string, Buffer> | undefined;
  /** The innermost one. */
  #container: OpenContainer | undefined;
  #root: JsonNode = empties.null;
  #count = 0;
  #key = '';
  #start = 0;
  /** The opaque value that is being passed over, and where it began. */
  #passedOver: OpaqueMember | undefined;
  #opaqueStart = 0;

  constructor(bytes: Buffer, options: JsonTreeOptions) {
    this.#bytes = bytes;
    this.#text = textByBytes(bytes);
    this.#opaque = options.opaque ?? [];
    this.#maxValues = options.maxValues ?? Infinity;
    this.#scanner = new JsonScanner({ maxDepth: options.maxDepth ?? 128, eventDepth: Infinity, handler: this });
  }

  /** The value being read: the opaque one, else the innermost open container. */
  get pointer(): string {
    return this.#passedOver?.pointer ?? pointerOf(this.#container);
  }

  /** By pointer, the bytes (no copies) of the opaque values that are there. */
  get spans(): ReadonlyMap<string, Buffer> {
    return this.#spans ?? noSpans;
  }

  read(): JsonNode {
    this.#scanner.push(this.#bytes);
    this.#scanner.end();
    return this.#root;
  }

  /** As `read`, and others have their turn on the event loop after each step. */
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
    const passedOver = opaque.length === 0 ? undefined : endingAt(level, opaque);
    if (passedOver !== undefined) {
      this.#passedOver = passedOver;
      this.#opaqueStart = start;
      this.#scanner.eventDepth = level;
    } else if (kind === 'object' || kind === 'array') {
      const node = kind === 'object' ? { kind, members: [] } : { kind, items: [] };
      this.#container = { outer: this.#container, key: this.#key, opaque, node };
    }
  }

  end(kind: JsonSpanKind, end: number): void {
    if (kind === 'key') this.#key = this.#string(end);
    else if (this.#passedOver !== undefined) this.#endOpaque(this.#passedOver, kind, end);
    else this.#add(kind === 'object' || kind === 'array' ? this.#closed() : this.#leaf(kind, end));
  }

  #endOpaque({ pointer }: OpaqueMember, kind: JsonNode['kind'], end: number): void {
    this.#spans ??= new Map();
    this.#spans.set(pointer, this.#bytes.subarray(this.#opaqueStart, end));
    this.#passedOver = undefined;
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

  /** What the string that was begun last stands for, without its quotes. */
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

  /** The opaque values that are in the value that comes next, at this level, or are that value itself. */
  #opaqueInNext(level: number): readonly OpaqueMember[] {
    const container = this.#container;
    if (container === undefined) return this.#opaque;
    if (container.opaque.length === 0) return container.opaque;
    return leadingTo(String(segmentIn(container, this.#key)), level, container.opaque);
  }
}

/** Those whose way leads through this name or index, which is at `level`. */
function leadingTo(segment: string, level: number, opaque: readonly OpaqueMember[]): readonly OpaqueMember[] {
  return opaque.filter(({ segments }) => segments[level - 2] === segment);
}

function endingAt(level: number, opaque: readonly OpaqueMember[]): OpaqueMember | undefined {
  return opaque.find(({ segments }) => segments.length === level - 1);
}

/** Characters from which on V8 cuts nothing out of a text but points into it, which keeps all of it and takes JSON.stringify three times as long. */
const sliceLimit = 13;
/** Bytes of a body that is worth being read as one text. */
const textLimit = 4_096;

/**
 * The text where each of its bytes is one character, as in ASCII, and it is short; else undefined. A token is cut out of it in a seventh of
 * the time that it takes to be read from the bytes.
 */
function textByBytes(bytes: Buffer): string | undefined {
  if (bytes.length > textLimit) return undefined;
  const text = bytes.toString();
  return text.length === bytes.length ? text : undefined;
}

function pointerOf(container: OpenContainer | undefined): string {
  // The outermost container stands under no name.
  if (container?.outer === undefined) return '';
  return pointerTo(pointerOf(container.outer), segmentIn(container.outer, container.key));
}

/** The name or index of the value in a container that comes next, or is being read. */
function segmentIn({ node }: OpenContainer, key: string): string | number {
  return node.kind === 'array' ? node.items.length : key;
}

/** What this, written between the quotes of a valid JSON string, stands for. Lone surrogates stay as they are. */
function unescaped(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
}
