import { pointerSegments, pointerTo } from './json-pointer.ts';
import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from './json-scanner.ts';
import { decodeJsonString } from './json-string.ts';

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
  /** Pointers of values that are not read: they stand in the tree as an empty value of their kind. */
  readonly opaque?: readonly string[];
  /** Most values, opaque ones counted once; a text with more is refused with the kind `size`. */
  readonly maxValues?: number;
  /** Receives the bytes (no copies) of the opaque values that are there. */
  readonly spans?: Map<string, Buffer>;
  /** Told, where the text is refused, which value it was refused in. */
  readonly onFailure?: (pointer: string) => void;
}

/** Reads a whole text of UTF-8. Throws JsonSyntaxError where it is not JSON or nested deeper than `maxDepth`. */
export function readJsonTree(bytes: Buffer, options: JsonTreeOptions = {}): JsonNode {
  const builder = new TreeBuilder(bytes, options);
  try {
    return builder.read();
  } catch (error) {
    options.onFailure?.(builder.pointer);
    throw error;
  }
}

type OpaquePath = readonly string[];

interface OpenContainer {
  /** The member name or index that the container itself stands under. */
  readonly segment: string | number;
  /** Of the opaque values inside it: the way from here. */
  readonly opaque: readonly OpaquePath[];
  readonly members: JsonMember[] | undefined;
  readonly items: JsonNode[];
}

const empties: Readonly<Record<JsonNode['kind'], JsonNode>> = {
  object: { kind: 'object', members: [] },
  array: { kind: 'array', items: [] },
  string: { kind: 'string', value: '' },
  number: { kind: 'number', text: '0' },
  boolean: { kind: 'boolean', value: true },
  null: { kind: 'null' },
};

class TreeBuilder implements JsonHandler {
  readonly #bytes: Buffer;
  readonly #opaque: readonly OpaquePath[];
  readonly #spans: Map<string, Buffer>;
  readonly #scanner: JsonScanner;
  readonly #open: OpenContainer[] = [];
  #root: JsonNode = empties.null;
  readonly #maxValues: number;
  #count = 0;
  #key = '';
  #start = 0;
  /** Where and at which level the opaque value began that is being passed over; 0 is none. */
  #opaqueLevel = 0;
  #opaqueStart = 0;

  constructor(bytes: Buffer, options: JsonTreeOptions) {
    this.#bytes = bytes;
    this.#opaque = (options.opaque ?? []).map(pointerSegments);
    this.#spans = options.spans ?? new Map();
    this.#maxValues = options.maxValues ?? Infinity;
    this.#scanner = new JsonScanner({ maxDepth: options.maxDepth ?? 128, eventDepth: Infinity, handler: this });
  }

  /** The value being read: the opaque one, else the innermost open container. */
  get pointer(): string {
    let pointer = '';
    // The outermost container stands under no name.
    for (const { segment } of this.#open.slice(1)) pointer = pointerTo(pointer, segment);
    return this.#opaqueLevel > 1 ? pointerTo(pointer, this.#segment()) : pointer;
  }

  read(): JsonNode {
    this.#scanner.push(this.#bytes);
    this.#scanner.end();
    return this.#root;
  }

  begin(kind: JsonSpanKind, start: number, level: number): void {
    this.#start = start;
    if (kind === 'key') return;
    const opaque = this.#opaqueInNext();
    if (opaque.some((path) => path.length === 0)) {
      this.#opaqueLevel = level;
      this.#opaqueStart = start;
      this.#scanner.eventDepth = level;
    } else if (kind === 'object' || kind === 'array') {
      this.#open.push({ segment: this.#segment(), opaque, members: kind === 'object' ? [] : undefined, items: [] });
    }
  }

  end(kind: JsonSpanKind, end: number, level: number): void {
    if (kind === 'key') this.#key = decodeJsonString(this.#bytes, this.#start, end);
    else if (level === this.#opaqueLevel) this.#endOpaque(kind, end);
    else this.#add(kind === 'object' || kind === 'array' ? this.#closed() : this.#leaf(kind, end));
  }

  #endOpaque(kind: JsonNode['kind'], end: number): void {
    this.#spans.set(this.pointer, this.#bytes.subarray(this.#opaqueStart, end));
    this.#opaqueLevel = 0;
    this.#scanner.eventDepth = Infinity;
    this.#add(empties[kind]);
  }

  #closed(): JsonNode {
    const container = this.#open.pop();
    this.#key = String(container?.segment ?? '');
    if (container?.members !== undefined) return { kind: 'object', members: container.members };
    return { kind: 'array', items: container?.items ?? [] };
  }

  #leaf(kind: 'string' | 'number' | 'boolean' | 'null', end: number): JsonNode {
    const bytes = this.#bytes;
    const start = this.#start;
    if (kind === 'string') return { kind, value: decodeJsonString(bytes, start, end) };
    if (kind === 'number') return { kind, text: bytes.toString('latin1', start, end) };
    return kind === 'boolean' ? { kind, value: bytes[start] === 0x74 } : empties.null;
  }

  #add(node: JsonNode): void {
    this.#count += 1;
    if (this.#count > this.#maxValues) throw new JsonSyntaxError('size', `has more than ${this.#maxValues} values`, this.#start);
    const container = this.#open.at(-1);
    if (container === undefined) this.#root = node;
    else if (container.members === undefined) container.items.push(node);
    else container.members.push([this.#key, node]);
  }

  /** The name or index of the value that comes next, or is being read. */
  #segment(): string | number {
    const container = this.#open.at(-1);
    return container?.members === undefined ? (container?.items.length ?? '') : this.#key;
  }

  /** The ways to the opaque values in the value that comes next; an empty way is that value itself. */
  #opaqueInNext(): readonly OpaquePath[] {
    const container = this.#open.at(-1);
    if (container === undefined) return this.#opaque;
    if (container.opaque.length === 0) return container.opaque;
    const segment = String(this.#segment());
    return container.opaque.filter((path) => path[0] === segment).map((path) => path.slice(1));
  }
}
