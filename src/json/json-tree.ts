import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '#base/gateway-error.ts';
import { type OpaqueMember, pointerTo } from './json-pointer.ts';
import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from './json-scanner.ts';

/** Lossless: members keep order and repetitions, numbers their text. */
export type JsonNode =
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' };

export type JsonMember = readonly [name: string, value: JsonNode];

interface JsonTreeOptions {
  /** Default: 128. */
  readonly maxDepth?: number;
  /** Empty values of the same kind in the tree. */
  readonly opaque?: readonly OpaqueMember[];
  /** An opaque value counts as one. More: kind `size`. */
  readonly maxValues?: number;
}

/** Throws JsonSyntaxError. */
export function readJsonTree(bytes: Buffer, options: JsonTreeOptions = {}): JsonNode {
  return new JsonTreeReader(bytes, options).read();
}

/** Bytes, about a millisecond. */
const step = 262_144;

interface OpenContainer {
  readonly outer: OpenContainer | undefined;
  /** In `outer`, if that is an object. */
  readonly key: string;
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

/** Also has the bytes of opaque values, and the place of a fault. */
export class JsonTreeReader implements JsonHandler {
  readonly #bytes: Buffer;
  readonly #text: string | undefined;
  readonly #opaque: readonly OpaqueMember[];
  readonly #scanner: JsonScanner;
  readonly #maxValues: number;
  #spans: Map<string, Buffer> | undefined;
  #container: OpenContainer | undefined;
  #root: JsonNode = empties.null;
  #count = 0;
  #key = '';
  #start = 0;
  /** Being skipped. */
  #skipped: OpaqueMember | undefined;
  #opaqueStart = 0;

  constructor(bytes: Buffer, options: JsonTreeOptions) {
    this.#bytes = bytes;
    this.#text = textByBytes(bytes);
    this.#opaque = options.opaque ?? [];
    this.#maxValues = options.maxValues ?? Infinity;
    this.#scanner = new JsonScanner({ maxDepth: options.maxDepth ?? 128, eventDepth: Infinity, handler: this });
  }

  /** Of the skipped opaque value, else of the innermost open container. */
  get pointer(): string {
    return this.#skipped?.pointer ?? pointerOf(this.#container);
  }

  /** By pointer: views, not copies. */
  get spans(): ReadonlyMap<string, Buffer> {
    return this.#spans ?? noSpans;
  }

  read(): JsonNode {
    this.#scanner.push(this.#bytes);
    this.#scanner.end();
    return this.#root;
  }

  /** The event loop continues between steps. */
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

  #string(end: number): string {
    return unescape(this.#written(this.#start + 1, end - 1));
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

  /** Inside the next value at this level, or that value itself. */
  #opaqueInNext(level: number): readonly OpaqueMember[] {
    const container = this.#container;
    if (container === undefined) return this.#opaque;
    if (container.opaque.length === 0) return container.opaque;
    return leadingTo(String(segmentIn(container, this.#key)), level, container.opaque);
  }
}

function leadingTo(segment: string, level: number, opaque: readonly OpaqueMember[]): readonly OpaqueMember[] {
  return opaque.filter(({ segments }) => segments[level - 2] === segment);
}

function endingAt(level: number, opaque: readonly OpaqueMember[]): OpaqueMember | undefined {
  return opaque.find(({ segments }) => segments.length === level - 1);
}

/** Longer substrings are views in V8, which keep the text alive and slow JSON.stringify down threefold. */
const sliceLimit = 13;
/** Bytes. */
const textLimit = 4_096;

/** For short ASCII: a substring takes a seventh of the time of decoding. */
function textByBytes(bytes: Buffer): string | undefined {
  if (bytes.length > textLimit) return undefined;
  const text = bytes.toString();
  return text.length === bytes.length ? text : undefined;
}

function pointerOf(container: OpenContainer | undefined): string {
  if (container?.outer === undefined) return '';
  return pointerTo(pointerOf(container.outer), segmentIn(container.outer, container.key));
}

/** Of the value parsed now or next. */
function segmentIn({ node }: OpenContainer, key: string): string | number {
  return node.kind === 'array' ? node.items.length : key;
}

/** Without quotes. Lone surrogates remain. */
function unescape(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
}

/** Bytes. Conversion blocks the event loop; relaying does not. */
const convertibleLimit = 1024 ** 2;

/** For a `body` that becomes XML or a form. Throws `invalid-request` over 1 MiB. */
export function readBodyTree(object: Buffer): JsonNode {
  if (object.length <= convertibleLimit) return readJsonTree(object);
  throw new GatewayError('invalid-request', 'The body is too large to be converted from JSON to another format.', {
    errors: [
      { pointer: '/body', detail: `has ${object.length} bytes; at most ${convertibleLimit} can be converted to XML or a form` },
    ],
  });
}
