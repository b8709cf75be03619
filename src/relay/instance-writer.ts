import { JsonSyntaxError } from '#json/json-scanner.ts';
import { decodeJsonString } from '#json/json-string.ts';
import { JsonTextWriter } from '#json/json-text-writer.ts';
import { groupByName } from '#json/member-names.ts';
import { HeldText } from './held-text.ts';

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
/** Up to here each name is held against each other. */
const fewNames = 16;
/** More names than this are not kept for the next instance. */
const longestShape = 256;

/**
 * Bytes that one piece of a reply may become. A name is written once for each entry that is no object, so that a long name over many
 * short entries could fill the memory; no honest reply comes near.
 */
const growthLimit = 32 * 1024 ** 2;

/** How a token passes through: names and strings as they are, the rest escaped as the inside of a string. */
type Copying = 'name' | 'string' | 'encoded';

interface InstanceWriterOptions {
  /** Receives the answer piece by piece, each time before the call that made it returns. */
  readonly write: (chunk: Buffer) => void;
  /** Bytes of one instance that are held while it is not complete. */
  readonly holdLimit: number;
}

/**
 * Writes the instances of an answer to a query, told of spans of a text that comes in parts. An instance is held until it
 * is complete, for a member may come again; beyond the limit it is written as far as it is known, and streams from there.
 */
export class InstanceWriter {
  readonly #holdLimit: number;
  readonly #out: JsonTextWriter;
  readonly #text = new HeldText();
  #instances = 0;
  /** Bytes written since the output was last taken. */
  #written = 0;

  #phase: 'between' | 'held' | 'streaming' = 'between';
  /** The one name of an instance that is no object. */
  #name: Buffer | undefined;
  /** For each complete member of the held instance: begin and end of its name, begin and end of its value. */
  #spans: number[] = [];
  #spanCount = 0;
  /** The raw names of the last instance without repeated ones: the entries of a list mostly have the same. */
  #shape: readonly Buffer[] = [];
  /** The member that is not complete; -1 for what has not come. */
  #nameStart = -1;
  #nameEnd = -1;
  #valueStart = -1;

  /** While streaming: whether a comma is due, and the token that is passing through. */
  #hasMembers = false;
  #copying: 'nothing' | Copying = 'nothing';
  #copiedTo = 0;

  constructor(options: InstanceWriterOptions) {
    this.#holdLimit = options.holdLimit;
    this.#out = new JsonTextWriter((chunk) => {
      this.#written += chunk.length;
      if (this.#written > growthLimit) throw new RangeError('the instances take far more room than the reply they are made of');
      options.write(chunk);
    });
  }

  /** What was written so far is done with: its memory is used again. */
  reuseOutput(): void {
    this.#out.reuse();
    this.#written = 0;
  }

  beginPart(part: Buffer, start: number): void {
    this.#text.beginPart(part, start);
    // What is written is mostly a little more than what was read.
    this.#out.reserve(part.length + (part.length >> 2) + 64);
    if (start === 0 && part.length > 0) this.#out.text('{"result":[');
  }

  endPart(): void {
    const end = this.#text.partEnd;
    if (this.#phase === 'streaming') this.#copy(end);
    else if (this.#text.isHolding && this.#text.keep() > this.#holdLimit) this.#startStreaming(end);
    this.#out.flush();
  }

  finish(): void {
    this.#out.text(']}');
    this.#out.flush();
  }

  /** Holds the text from here on, until `take`. */
  hold(start: number): void {
    this.#text.hold(start);
  }

  take(end: number): Buffer {
    const text = this.#text;
    const start = text.from;
    text.reach(end);
    text.release();
    return Buffer.from(text.bytes.subarray(start - text.base, end - text.base));
  }

  /** Begins an instance: an object, or a single value of the raw name token given. */
  open(start: number, name?: Buffer): void {
    if (this.#instances > 0) this.#out.byte(comma);
    this.#out.text('{"instance_data":{');
    this.#instances += 1;
    this.#phase = 'held';
    this.#name = name;
    this.#spanCount = 0;
    this.#hasMembers = false;
    this.#text.hold(start);
  }

  close(end: number): void {
    if (this.#phase === 'held') {
      this.#text.reach(end);
      this.#writeMembers();
    }
    this.#out.text('}}');
    this.#phase = 'between';
    this.#text.release();
  }

  beginName(start: number): void {
    this.#nameStart = start;
    if (this.#phase === 'streaming') this.#beginCopy('name', start);
  }

  endName(end: number): void {
    this.#nameEnd = end;
    if (this.#phase === 'streaming') this.#endCopy(end);
  }

  beginValue(start: number, isString: boolean): void {
    this.#valueStart = start;
    if (this.#phase === 'streaming') this.#beginCopy(isString ? 'string' : 'encoded', start);
  }

  endValue(end: number): void {
    if (this.#phase === 'streaming') this.#endCopy(end);
    else this.#addMember(end);
    this.#nameStart = -1;
    this.#nameEnd = -1;
    this.#valueStart = -1;
  }

  #addMember(end: number): void {
    const spans = this.#spans;
    const at = this.#spanCount;
    spans[at] = this.#nameStart;
    spans[at + 1] = this.#nameEnd;
    spans[at + 2] = this.#valueStart;
    spans[at + 3] = end;
    this.#spanCount = at + 4;
  }

  /** The complete members; the text reaches to the last of them. */
  #writeMembers(): void {
    const count = this.#spanCount;
    this.#hasMembers = count > 0;
    if (this.#name !== undefined) {
      this.#out.raw(this.#name, 0, this.#name.length);
      this.#out.byte(colon);
      if (count > 0) this.#writeValue((this.#spans[2] as number) - this.#text.base, (this.#spans[3] as number) - this.#text.base);
      return;
    }
    const groups = this.#hasShape() ? undefined : this.#groupMembers();
    if (groups === undefined) this.#writeRuns();
    else this.#writeGroups(groups);
    if (count > 4 * longestShape) this.#spans = [];
  }

  #hasShape(): boolean {
    const shape = this.#shape;
    if (shape.length * 4 !== this.#spanCount) return false;
    const { bytes, base } = this.#text;
    for (let i = 0; i < shape.length; i++) {
      const start = (this.#spans[i * 4] as number) - base;
      if (!isAt(shape[i] as Buffer, bytes, start, (this.#spans[i * 4 + 1] as number) - base)) return false;
    }
    return true;
  }

  /** Few names, none of them escaped, no two the same: mostly it is so, and then nothing has to be decoded. */
  #differAsWritten(count: number): boolean {
    if (count > fewNames) return false;
    const { bytes, base } = this.#text;
    const spans = this.#spans;
    for (let i = 0; i < count; i++) {
      const start = (spans[i * 4] as number) - base;
      const end = (spans[i * 4 + 1] as number) - base;
      for (let at = start; at < end; at++) if (bytes[at] === backslash) return false;
      for (let j = 0; j < i; j++) {
        const other = (spans[j * 4] as number) - base;
        const length = end - start;
        if ((spans[j * 4 + 1] as number) - base - other === length && isSame(bytes, start, other, length)) return false;
      }
    }
    return true;
  }

  #groupMembers(): readonly (readonly number[])[] | undefined {
    const count = this.#spanCount / 4;
    const groups = this.#differAsWritten(count)
      ? undefined
      : groupByName(count, (index) => decodeJsonString(this.#tokenAt(index * 4)));
    // The first instance may be the only one.
    if (groups === undefined && count <= longestShape && this.#instances > 1) {
      const shape: Buffer[] = [];
      for (let index = 0; index < count; index++) shape.push(Buffer.from(this.#tokenAt(index * 4)));
      this.#shape = shape;
    }
    return groups;
  }

  /** The name or value whose begin and end stand at `at`. */
  #tokenAt(at: number): Buffer {
    const { bytes, base } = this.#text;
    return bytes.subarray((this.#spans[at] as number) - base, (this.#spans[at + 1] as number) - base);
  }

  /** A property for each group, at the place of its first member; more than one value become an array. */
  #writeGroups(groups: readonly (readonly number[])[]): void {
    const out = this.#out;
    const writeEncoded = (bytes: Buffer): void => out.escaped(bytes, 0, bytes.length);
    groups.forEach((group, place) => {
      if (place > 0) out.byte(comma);
      const name = this.#tokenAt((group[0] ?? 0) * 4);
      out.raw(name, 0, name.length);
      out.byte(colon);
      if (group.length === 1) {
        const at = (group[0] ?? 0) * 4 + 2;
        this.#writeValue((this.#spans[at] as number) - this.#text.base, (this.#spans[at + 1] as number) - this.#text.base);
        return;
      }
      out.text('"[');
      group.forEach((index, order) => {
        if (order > 0) out.byte(comma);
        writeEncoded(this.#tokenAt(index * 4 + 2));
      });
      out.text(']"');
    });
  }

  /** All members as they stand, in runs that end only at a value to be quoted and at white space between tokens. */
  #writeRuns(): void {
    const { bytes, base } = this.#text;
    const spans = this.#spans;
    const out = this.#out;
    let from = (spans[0] ?? base) - base;
    let end = from;
    for (let i = 0; i < this.#spanCount; i += 4) {
      const nameStart = (spans[i] as number) - base;
      const nameEnd = (spans[i + 1] as number) - base;
      const start = (spans[i + 2] as number) - base;
      if (i > 0 && nameStart !== end + 1) {
        out.raw(bytes, from, end);
        out.byte(comma);
        from = nameStart;
      }
      if (start !== nameEnd + 1) {
        out.raw(bytes, from, nameEnd);
        out.byte(colon);
        from = start;
      }
      end = (spans[i + 3] as number) - base;
      if (bytes[start] !== quote) {
        out.raw(bytes, from, start);
        this.#writeValue(start, end);
        from = end;
      }
    }
    out.raw(bytes, from, end);
  }

  #writeValue(start: number, end: number): void {
    const { bytes } = this.#text;
    if (bytes[start] === quote) {
      this.#out.raw(bytes, start, end);
      return;
    }
    this.#out.byte(quote);
    this.#out.escaped(bytes, start, end);
    this.#out.byte(quote);
  }

  /** The instance is too long to be held: writes what is complete, and what there is of the member that is not. */
  #startStreaming(end: number): void {
    const text = this.#text;
    if (this.#phase === 'between') {
      throw new JsonSyntaxError('syntax', `a member name is longer than ${this.#holdLimit} bytes`, end);
    }
    text.reach(end);
    this.#writeMembers();
    this.#phase = 'streaming';
    if (this.#nameStart >= 0) this.#beginCopy('name', this.#nameStart);
    if (this.#nameEnd >= 0) this.#endCopy(this.#nameEnd);
    if (this.#valueStart >= 0) {
      const isString = text.bytes[this.#valueStart - text.base] === quote;
      this.#beginCopy(isString ? 'string' : 'encoded', this.#valueStart);
    }
    this.#copy(end);
    text.release();
  }

  #beginCopy(copying: Copying, start: number): void {
    if (copying === 'name' && this.#hasMembers) this.#out.byte(comma);
    if (copying === 'encoded') this.#out.byte(quote);
    this.#hasMembers = true;
    this.#copying = copying;
    this.#copiedTo = start;
  }

  #copy(end: number): void {
    if (this.#copying === 'nothing') return;
    const { bytes, base } = this.#text;
    if (this.#copying === 'encoded') this.#out.escaped(bytes, this.#copiedTo - base, end - base);
    else this.#out.raw(bytes, this.#copiedTo - base, end - base);
    this.#copiedTo = end;
  }

  #endCopy(end: number): void {
    this.#copy(end);
    if (this.#copying === 'encoded') this.#out.byte(quote);
    if (this.#copying === 'name') this.#out.byte(colon);
    this.#copying = 'nothing';
  }
}

function isSame(bytes: Buffer, one: number, other: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[one + i] !== bytes[other + i]) return false;
  return true;
}

function isAt(token: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== token.length) return false;
  for (let i = 0; i < token.length; i++) if (bytes[start + i] !== token[i]) return false;
  return true;
}
