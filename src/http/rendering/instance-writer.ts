import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from '#json/json-scanner.ts';
import { GrowingBytes } from './growing-bytes.ts';
import { HeldMembers } from './held-members.ts';

/**
 * Most bytes that one piece of a reply may become. The name of a list is written for each entry that is no object: a long name with many
 * short entries could fill the memory. No ordinary reply comes near this limit.
 */
const growthLimit = 32 * 1024 ** 2;

/** Deeper nesting is refused; no parser reads it. */
const maxDepth = 1_000_000;

const nothing: Buffer = Buffer.alloc(0);

type Place = 'root' | 'members' | 'entries' | 'instance' | 'single';
type Copying = 'nothing' | 'name' | 'unchanged' | 'escaped';

/**
 * Converts an upstream's JSON (UTF-8, in chunks cut anywhere) into the answer of a query, `{"result":[{"instance_data":{…}},…]}`. Each
 * entry, object or leaf of the outermost members becomes an instance. Strings stay unchanged; any other value becomes a string with its
 * exact text. The values of a repeated member become one array, so an instance is held in the output until it is complete.
 */
export class InstanceWriter implements JsonHandler {
  readonly #holdLimit: number;
  readonly #scanner: JsonScanner;
  readonly #output: GrowingBytes;
  #chunk = nothing;
  /** The place of the chunk in the text. */
  #base = 0;
  /** How the current input is copied, and the offset in the text from which it is not copied yet. */
  #copying: Copying = 'nothing';
  #copiedFrom = 0;
  /** What the next span belongs to, which decides how it is written; and the same around the current instance. */
  #place: Place = 'root';
  #outer: Place = 'root';
  #memberCount = 0;
  #instanceCount = 0;
  /** The token of the name of single values. Each character is one byte of it. */
  #name = '"content"';
  /** Whether the instance at the end of the output is held, and its offset there. */
  #isHeld = false;
  #heldFrom = 0;
  #hasMembers = false;
  readonly #held = new HeldMembers();
  /** Bytes at the beginning of the output that were returned. */
  #returned = 0;
  /** Offsets of the current member in its instance. */
  #nameAt = 0;
  #valueAt = 0;
  #isString = false;

  /** An instance longer than `holdLimit` bytes is not held: its complete part is returned, and the rest streams. */
  constructor(holdLimit: number) {
    this.#holdLimit = holdLimit;
    this.#output = new GrowingBytes(holdLimit + growthLimit);
    this.#output.text('{"result":[');
    this.#scanner = new JsonScanner({ maxDepth, eventDepth: 1, handler: this });
  }

  /** The output so far, valid until the next `push`. Throws JsonSyntaxError where the text is not JSON. */
  push(chunk: Buffer): Buffer {
    const output = this.#output;
    output.drop(this.#returned);
    this.#heldFrom -= this.#returned;
    this.#returned = 0;
    output.reserve(chunk.length + (chunk.length >> 2) + 64);
    this.#chunk = chunk;
    this.#copiedFrom = this.#base;
    this.#scanner.push(chunk);
    const end = this.#base + chunk.length;
    this.#copyTo(end);
    this.#base = end;
    if (this.#copying === 'name' && this.#name.length > this.#holdLimit)
      throw new JsonSyntaxError('size', 'a member name is longer than the limit for held bytes', end);
    if (this.#isHeld && output.size - this.#heldFrom > this.#holdLimit) this.#release();
    return this.#ready();
  }

  /** Returns the last few bytes; the Buffer of the last `push` stays valid. Throws JsonSyntaxError where the text is incomplete. */
  finish(): Buffer {
    this.#scanner.end();
    this.#output.text(']}');
    return this.#ready();
  }

  begin(kind: JsonSpanKind, start: number, level: number): void {
    if (this.#place === 'instance') {
      if (kind === 'key') this.#beginName(start);
      else this.#beginValue(kind, start);
    } else if (kind === 'key') {
      this.#name = '';
      this.#memberCount += 1;
      this.#beginCopy('name', start);
    } else if (kind === 'object' && (this.#place === 'root' || this.#isCollection(level))) {
      this.#enter('members', level + 1);
    } else if (kind === 'array' && this.#place !== 'entries') {
      this.#enter('entries', level + 1);
    } else {
      this.#openInstance(kind, start, level);
    }
  }

  end(kind: JsonSpanKind, end: number, level: number): void {
    if (this.#place === 'instance') {
      this.#endInInstance(kind, end, level);
    } else if (this.#place === 'single') {
      this.#endValue(end);
      this.#output.text('}}');
      this.#place = this.#outer;
    } else if (kind === 'key') {
      this.#endCopy(end);
    } else {
      this.#enter(level === 1 ? 'root' : 'members', level);
    }
  }

  whole(kind: 'key' | 'string', start: number, end: number, level: number): void {
    if (this.#place !== 'instance') {
      this.begin(kind, start, level);
      this.end(kind, end, level);
      return;
    }
    const output = this.#output;
    const at = output.size - this.#heldFrom;
    if (kind === 'key') {
      if (this.#hasMembers) output.put(comma);
      this.#nameAt = this.#hasMembers ? at + 1 : at;
      this.#hasMembers = true;
      output.add(this.#chunk, start - this.#base, end - this.#base);
      output.put(colon);
    } else {
      output.add(this.#chunk, start - this.#base, end - this.#base);
      if (this.#isHeld) this.#held.add(this.#nameAt, at, output.size - this.#heldFrom, true);
    }
  }

  /** The output that no repeated member can change any more. */
  #ready(): Buffer {
    const from = this.#returned;
    this.#returned = this.#isHeld ? this.#heldFrom : this.#output.size;
    return this.#output.bytes.subarray(from, this.#returned);
  }

  /** `level`: up to which spans are reported. */
  #enter(place: Place, level: number): void {
    this.#place = place;
    this.#scanner.eventDepth = level;
  }

  /** The wrapper of NSO's legacy API around several roots, which is the first member of the reply. */
  #isCollection(level: number): boolean {
    return level === 2 && this.#memberCount === 1 && this.#place === 'members' && JSON.parse(this.#name) === 'collection';
  }

  #openInstance(kind: JsonSpanKind, start: number, level: number): void {
    const output = this.#output;
    this.#outer = this.#place;
    output.text(this.#instanceCount === 0 ? '{"instance_data":{' : ',{"instance_data":{');
    this.#instanceCount += 1;
    if (kind === 'object') {
      this.#isHeld = true;
      this.#heldFrom = output.size;
      this.#hasMembers = false;
      this.#enter('instance', level + 1);
    } else {
      output.text(this.#name);
      output.put(colon);
      this.#beginValue(kind, start);
      this.#place = 'single';
    }
  }

  #endInInstance(kind: JsonSpanKind, end: number, level: number): void {
    if (kind === 'key') {
      this.#endCopy(end);
      this.#output.put(colon);
    } else if (level === this.#scanner.eventDepth) {
      this.#endValue(end);
      if (this.#isHeld) this.#held.add(this.#nameAt, this.#valueAt, this.#output.size - this.#heldFrom, this.#isString);
    } else {
      if (this.#isHeld) this.#release();
      this.#output.text('}}');
      this.#enter(this.#outer, level);
    }
  }

  /** The held instance is complete, or too long to be held. */
  #release(): void {
    this.#held.join(this.#output, this.#heldFrom);
    this.#isHeld = false;
  }

  #beginName(start: number): void {
    if (this.#hasMembers) this.#output.put(comma);
    this.#hasMembers = true;
    this.#nameAt = this.#output.size - this.#heldFrom;
    this.#beginCopy('unchanged', start);
  }

  #beginValue(kind: JsonSpanKind, start: number): void {
    this.#valueAt = this.#output.size - this.#heldFrom;
    this.#isString = kind === 'string';
    if (!this.#isString) this.#output.put(quote);
    this.#beginCopy(this.#isString ? 'unchanged' : 'escaped', start);
  }

  #endValue(end: number): void {
    this.#endCopy(end);
    if (!this.#isString) this.#output.put(quote);
  }

  #beginCopy(copying: Copying, start: number): void {
    this.#copying = copying;
    this.#copiedFrom = start;
  }

  #endCopy(end: number): void {
    this.#copyTo(end);
    this.#copying = 'nothing';
  }

  #copyTo(end: number): void {
    const from = this.#copiedFrom - this.#base;
    const to = end - this.#base;
    this.#copiedFrom = end;
    if (this.#copying === 'unchanged') this.#output.add(this.#chunk, from, to);
    else if (this.#copying === 'escaped') this.#output.addEscaped(this.#chunk, from, to);
    else if (this.#copying === 'name') this.#name += this.#chunk.toString('latin1', from, to);
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
