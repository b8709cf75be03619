import {
  afterDocument,
  afterItem,
  afterMember,
  beforeColon,
  beforeFirstItem,
  beforeFirstKey,
  beforeValue,
  beginToken,
  closeContainer,
  endKey,
  endNumber,
  endValue,
  expectedIn,
  fail,
  failed,
  firstAction,
  inInteger,
  inKey,
  isCompleteNumber,
  openObject,
  reportingTable,
  silentTable,
  skipValue,
  stateAfterFirstByte,
} from './json-grammar.ts';

type JsonFault = 'syntax' | 'depth' | 'incomplete' | 'size';

/** `offset`: bytes from the beginning, across chunks. */
export class JsonSyntaxError extends Error {
  readonly kind: JsonFault;
  readonly offset: number;

  constructor(kind: JsonFault, message: string, offset: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.kind = kind;
    this.offset = offset;
  }
}

/** `key`: a member's name, with quotes. */
export type JsonSpanKind = 'key' | 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** Absolute offsets, `end` exclusive. The outermost value has level 1. May set the scanner's `eventDepth`. */
export interface JsonHandler {
  begin(kind: JsonSpanKind, start: number, level: number): void;
  end(kind: JsonSpanKind, end: number, level: number): void;
  /** In place of both, for most names and strings; saves time. */
  whole?(kind: 'key' | 'string', start: number, end: number, level: number): void;
}

interface JsonScannerOptions {
  /** The outermost has depth 1. */
  readonly maxDepth: number;
  /** Spans up to this level are reported. Default: 0, none. */
  readonly eventDepth?: number;
  readonly handler?: JsonHandler;
}

const noHandler: JsonHandler = { begin: () => undefined, end: () => undefined };
const quote = 0x22;
/** 1 for a quote, a backslash or a control character. */
const stringEnds = Uint8Array.from({ length: 256 }, (_, byte) => (byte < 0x20 || byte === quote || byte === 0x5c ? 1 : 0));

/** Where a run of plain string bytes ends. */
function plainEnd(bytes: Uint8Array, from: number, length: number): number {
  let i = from;
  while (i < length && stringEnds[bytes[i] as number] === 0) i++;
  return i;
}

/** Where the digits end. */
function digitsEnd(bytes: Uint8Array, from: number, length: number): number {
  let i = from;
  while (i < length && ((bytes[i] as number) - 0x30) >>> 0 < 10) i++;
  return i;
}

/** Accepts chunks of any size, and exactly what `JSON.parse` does up to `maxDepth`, without a check of UTF-8. Throws JsonSyntaxError, and then refuses everything. */
export class JsonScanner {
  readonly #maxDepth: number;
  readonly #handler: JsonHandler;
  #eventDepth: number;
  #state = beforeValue;
  #table = silentTable;
  #offset = 0;
  #depth = 0;
  /** The state after each open container. */
  readonly #containers: number[] = [];
  /** After the current value. */
  #afterValue = afterDocument;
  #tokenKind: JsonSpanKind = 'null';

  constructor(options: JsonScannerOptions) {
    this.#maxDepth = options.maxDepth;
    this.#handler = options.handler ?? noHandler;
    this.#eventDepth = options.handler === undefined ? 0 : (options.eventDepth ?? 0);
    this.#chooseTable();
  }

  /** Set it only in the handler, or between chunks. */
  get eventDepth(): number {
    return this.#eventDepth;
  }

  set eventDepth(level: number) {
    this.#eventDepth = level;
    this.#chooseTable();
  }

  push(chunk: Uint8Array): void {
    const length = chunk.length;
    let state = this.#state;
    let table = this.#table;
    let afterValue = this.#afterValue;
    let i = 0;
    while (i < length) {
      if (state <= inKey) {
        i = plainEnd(chunk, i, length);
        if (i === length) break;
      }
      const byte = chunk[i] as number;
      const next = table[(state << 8) | byte] as number;
      if (next < firstAction) {
        state = next;
        i++;
        if (next === inInteger) i = digitsEnd(chunk, i, length);
      } else if (next <= skipValue) {
        state = afterValue;
        i += next - firstAction;
      } else {
        i = this.#act(next, chunk, i, state);
        state = this.#state;
        table = this.#table;
        afterValue = this.#afterValue;
      }
    }
    this.#state = state;
    this.#offset += length;
  }

  /** Throws `incomplete` if a part is missing. */
  end(): void {
    const state = this.#state;
    if (this.#depth === 0 && isCompleteNumber(state)) {
      this.#state = this.#endToken(this.#offset);
    } else if (state !== afterDocument) {
      this.#state = failed;
      throw new JsonSyntaxError('incomplete', `the text ends early: ${this.#lacking(state)}`, this.#offset);
    }
  }

  #lacking(state: number): string {
    if (state < beforeValue) return 'a string is not closed';
    return this.#depth > 0 ? `${this.#depth} object(s) or array(s) not closed` : `expected ${expectedIn(state)}`;
  }

  #chooseTable(): void {
    this.#table = this.#depth < this.#eventDepth ? reportingTable : silentTable;
  }

  /** Returns where the chunk goes on. */
  #act(action: number, chunk: Uint8Array, at: number, state: number): number {
    if (action === beginToken && chunk[at] === quote) return this.#beginString(chunk, at, state);
    this.#state = this.#stateAfter(action, this.#offset + at, chunk[at] as number, state);
    // The byte after a number is scanned again.
    return action === endNumber ? at : at + 1;
  }

  #stateAfter(action: number, offset: number, byte: number, state: number): number {
    switch (action) {
      case endValue:
        return this.#endToken(offset + 1);
      case endNumber:
        return this.#endToken(offset);
      case beginToken:
        return this.#beginToken(offset, byte, state);
      case endKey:
        this.#handler.end('key', offset + 1, this.#depth + 1);
        return beforeColon;
      case closeContainer:
        return this.#close(offset + 1);
      case fail:
        this.#state = failed;
        throw unexpected(byte, state, offset);
      default:
        return this.#open(action === openObject, offset);
    }
  }

  /** Reports a string without escapes at once, if it is whole in its chunk. */
  #beginString(chunk: Uint8Array, at: number, state: number): number {
    const end = plainEnd(chunk, at + 1, chunk.length);
    if (chunk[end] !== quote || this.#handler.whole === undefined) {
      this.#state = this.#beginToken(this.#offset + at, quote, state);
      return end;
    }
    const isKey = isBeforeKey(state);
    this.#handler.whole(isKey ? 'key' : 'string', this.#offset + at, this.#offset + end + 1, this.#depth + 1);
    this.#state = isKey ? beforeColon : this.#afterValue;
    return end + 1;
  }

  #beginToken(offset: number, byte: number, state: number): number {
    const isKey = isBeforeKey(state);
    this.#tokenKind = isKey ? 'key' : kindOf(byte);
    this.#handler.begin(this.#tokenKind, offset, this.#depth + 1);
    return isKey ? inKey : (stateAfterFirstByte[byte] as number);
  }

  #endToken(end: number): number {
    if (this.#depth < this.#eventDepth) this.#handler.end(this.#tokenKind, end, this.#depth + 1);
    return this.#afterValue;
  }

  #open(isObject: boolean, offset: number): number {
    const depth = this.#depth;
    if (depth === this.#maxDepth) {
      return this.#refuse('depth', `nested deeper than ${this.#maxDepth} objects and arrays`, offset);
    }
    if (depth < this.#eventDepth) this.#handler.begin(isObject ? 'object' : 'array', offset, depth + 1);
    this.#containers.push(this.#afterValue);
    this.#depth = depth + 1;
    this.#afterValue = isObject ? afterMember : afterItem;
    this.#chooseTable();
    return isObject ? beforeFirstKey : beforeFirstItem;
  }

  #close(end: number): number {
    const wasObject = this.#afterValue === afterMember;
    const depth = this.#depth - 1;
    this.#depth = depth;
    this.#afterValue = this.#containers.pop() ?? afterDocument;
    this.#chooseTable();
    if (depth < this.#eventDepth) this.#handler.end(wasObject ? 'object' : 'array', end, depth + 1);
    return this.#afterValue;
  }

  #refuse(kind: JsonFault, message: string, offset: number): never {
    this.#state = failed;
    throw new JsonSyntaxError(kind, message, offset);
  }
}

/** Undefined: the bytes are JSON, which is not nested deeper. UTF-8 is not checked. */
export function jsonFault(bytes: Uint8Array, maxDepth = 128): JsonSyntaxError | undefined {
  try {
    const scanner = new JsonScanner({ maxDepth });
    scanner.push(bytes);
    scanner.end();
    return undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
}

function isBeforeKey(state: number): boolean {
  return state !== beforeValue && state !== beforeFirstItem;
}

function kindOf(firstByte: number): JsonSpanKind {
  if (firstByte === 0x22) return 'string';
  if (firstByte === 0x74 || firstByte === 0x66) return 'boolean';
  return firstByte === 0x6e ? 'null' : 'number';
}

function unexpected(byte: number, state: number, offset: number): JsonSyntaxError {
  return new JsonSyntaxError('syntax', `unexpected ${describe(byte)}: expected ${expectedIn(state)}`, offset);
}

function describe(byte: number): string {
  if (byte > 0x20 && byte < 0x7f) return `character ${String.fromCharCode(byte)}`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
