/**
 * AssemblyScript: writes a far side's JSON as the answer of a query, in one pass. src/relay/instance-writer.ts calls it and documents the
 * answer. One reply at a time: `begin`, then the text in parts, then `finish`.
 *
 * Input is written to the output at once. An instance is held in the output until it is complete, with the places of its members,
 * because a member may be repeated. All its values then become one member. That is rare, and the caller does it (`merge`).
 */
import { escapeTo } from './escaping';
import { input, inputSize as size } from './input';
import { addBytes, areSame, Block } from './memory';
import { arraySpan, keySpan, objectSpan, reportingTable, Scanner, silentTable, stateAfterFirstByte, stringSpan } from './scanner';

/**
 * Joins members of the same name in an instance with `count` complete members. Returns the new end of the output; 0 where all names
 * differ.
 */
declare function merge(count: i32, places: usize, instance: usize, end: usize): usize;
/** Throws JsonSyntaxError in the caller: a name is too long, at `at` bytes from the beginning of the part. */
declare function refuseName(at: usize): void;

export const inputAt: usize = input;
export const inputSize: usize = size;
export const silentTableAt: usize = silentTable;
export const reportingTableAt: usize = reportingTable;
export const stateAfterFirstByteAt: usize = stateAfterFirstByte;

const comma: u8 = 0x2c;
const quote: u8 = 0x22;
const colon: u8 = 0x3a;
const bracket: u8 = 0x5d;
const brace: u8 = 0x7d;
const answerOpening = new Block(16).set('{"result":[');
const instanceOpening = new Block(32).set('{"instance_data":{');
/** Bytes written after the last part: the end of a number, of its instance, of the answer. */
const lastWords: usize = 8;

/** Place of the next span in the reply, which decides how the span is read. */
const atRoot = 0;
const inMembers = 1;
const inEntries = 2;
const inInstance = 3;
const inSingle = 4;

/** How the current input is copied. */
const notAtAll = 0;
const intoName = 1;
const asItIs = 2;
const escaped = 3;

/** Bytes for a complete member: offsets of name, value and end from the beginning of its instance, and whether the value is a string. */
const placeSize: usize = 16;
/** Names of an instance that are kept to compare them with the next instance, at most. */
const longestShape: i32 = 256;
/** Names that are compared with each other here, at most; the caller compares more. */
const fewNames: i32 = 16;

class InstanceWriter {
  private readonly scanner: Scanner<InstanceWriter> = new Scanner<InstanceWriter>();
  /** The answer, as far as it is not taken. */
  readonly output: Block = new Block(131072);
  private hasBegun: bool = false;
  /** How the current input is copied, and the address from which it is not copied yet. */
  private copying: i32 = notAtAll;
  private copiedFrom: usize = 0;

  private place: i32 = atRoot;
  /** The place around the current instance. */
  private outer: i32 = atRoot;
  private memberCount: u32 = 0;
  private instanceCount: u32 = 0;
  /** The raw name token that becomes the name of single values. */
  private readonly name: Block = new Block(256);

  /** Whether the instance at the end of the output is held; its offset and its limit, in bytes. */
  private isHeld: bool = false;
  private heldFrom: usize = 0;
  private holdLimit: usize = 0;
  private hasMembers: bool = false;
  private count: i32 = 0;
  private readonly places: Block = new Block(1024);
  /** The current member. */
  private nameAt: u32 = 0;
  private valueAt: u32 = 0;
  private isString: bool = false;
  /** The names of the last instance without repetitions. Entries of a list mostly have the same names. */
  private readonly shape: Block = new Block(256);
  private shapeCount: i32 = 0;

  /** Begins a reply, also where the one before did not end. */
  begin(mostHeld: usize, mostOutput: usize): void {
    this.scanner.begin(1);
    this.output.clear();
    this.output.most = mostOutput;
    this.hasBegun = false;
    this.copying = notAtAll;
    this.place = atRoot;
    this.memberCount = 0;
    this.instanceCount = 0;
    this.name.set('"content"');
    this.isHeld = false;
    this.holdLimit = mostHeld;
    this.count = 0;
    this.places.clear();
    this.shape.clear();
    this.shapeCount = 0;
  }

  push(length: usize): void {
    if (!this.hasBegun) this.output.addBlock(answerOpening);
    this.hasBegun = true;
    const end = input + length;
    this.copiedFrom = input;
    this.scanner.push(this, input, end);
    this.copyTo(end);
    if (this.copying == intoName && this.name.size > this.holdLimit) refuseName(length);
    if (this.isHeld && this.output.size - this.heldFrom > this.holdLimit) {
      this.joinRepeated();
      this.isHeld = false;
    }
    // Makes room for `finish`, during which the given bytes must not move.
    this.output.reserve(lastWords);
  }

  finish(): void {
    this.copiedFrom = input;
    this.scanner.end(this, input);
    this.output.put(bracket);
    this.output.put(brace);
  }

  get givenSize(): usize {
    return this.isHeld ? this.heldFrom : this.output.size;
  }

  taken(): void {
    this.output.dropBefore(this.output.start + this.givenSize);
    this.heldFrom = 0;
  }

  beginSpan(kind: i32, at: usize, level: u32): void {
    if (this.place == inInstance) {
      if (kind == keySpan) this.beginName(at);
      else this.beginValue(at, kind == stringSpan);
    } else if (kind == keySpan) {
      this.name.clear();
      this.beginCopy(intoName, at);
      this.memberCount++;
    } else if (kind == objectSpan && (this.place == atRoot || this.isCollection(level))) {
      this.enter(inMembers, level);
    } else if (kind == arraySpan && this.place != inEntries) {
      this.enter(inEntries, level);
    } else {
      this.openInstance(kind, at, level);
    }
  }

  endSpan(kind: i32, end: usize, level: u32): void {
    if (this.place == inInstance) {
      if (kind == keySpan) {
        this.endCopy(end);
        this.output.put(colon);
      } else if (level == this.scanner.reported) {
        this.endValue(end);
        if (this.isHeld) this.keepPlace();
      } else {
        if (this.isHeld) this.joinRepeated();
        this.closeInstance();
        this.leave(this.outer, level);
      }
    } else if (this.place == inSingle) {
      this.endValue(end);
      this.closeInstance();
      this.place = this.outer;
    } else if (kind == keySpan) this.endCopy(end);
    else this.leave(level == 1 ? atRoot : inMembers, level);
  }

  /** A whole span of which no byte has to be escaped. */
  @inline
  span(kind: i32, at: usize, end: usize, level: u32): void {
    if (this.place != inInstance) {
      this.beginSpan(kind, at, level);
      this.endSpan(kind, end, level);
      return;
    }
    const output = this.output;
    output.reserve(end - at + 2);
    if (kind == keySpan) {
      if (this.hasMembers) store<u8>(output.end++, comma);
      this.hasMembers = true;
      this.nameAt = this.heldSize;
      output.end = addBytes(output.end, at, end);
      store<u8>(output.end++, colon);
    } else {
      this.valueAt = this.heldSize;
      this.isString = kind == stringSpan;
      if (!this.isString) store<u8>(output.end++, quote);
      output.end = addBytes(output.end, at, end);
      if (!this.isString) store<u8>(output.end++, quote);
      if (this.isHeld) this.keepPlace();
    }
  }

  private enter(inside: i32, level: u32): void {
    this.place = inside;
    this.scanner.reported = level + 1;
  }

  private leave(outside: i32, level: u32): void {
    this.place = outside;
    this.scanner.reported = level;
  }

  /** The wrapper of NSO's legacy API around several roots, which is the first member of the reply. */
  private isCollection(level: u32): bool {
    return level == 2 && this.memberCount == 1 && this.place == inMembers && this.name.reads('collection');
  }

  private openInstance(kind: i32, at: usize, level: u32): void {
    this.outer = this.place;
    if (this.instanceCount > 0) this.output.put(comma);
    this.instanceCount++;
    this.output.addBlock(instanceOpening);
    if (kind == objectSpan) {
      this.isHeld = true;
      this.heldFrom = this.output.size;
      this.hasMembers = false;
      this.enter(inInstance, level);
    } else {
      this.output.addBlock(this.name);
      this.output.put(colon);
      this.beginValue(at, kind == stringSpan);
      this.place = inSingle;
    }
  }

  private closeInstance(): void {
    this.isHeld = false;
    this.output.put(brace);
    this.output.put(brace);
  }

  @inline
  private beginName(at: usize): void {
    if (this.hasMembers) this.output.put(comma);
    this.hasMembers = true;
    this.nameAt = this.heldSize;
    this.beginCopy(asItIs, at);
  }

  @inline
  private beginValue(at: usize, isString: bool): void {
    this.valueAt = this.heldSize;
    this.isString = isString;
    if (!isString) this.output.put(quote);
    this.beginCopy(isString ? asItIs : escaped, at);
  }

  @inline
  private endValue(end: usize): void {
    this.endCopy(end);
    if (!this.isString) this.output.put(quote);
  }

  @inline
  private get heldSize(): u32 {
    return <u32>(this.output.size - this.heldFrom);
  }

  @inline
  private keepPlace(): void {
    const places = this.places;
    places.reserve(placeSize);
    store<u32>(places.end, this.nameAt);
    store<u32>(places.end, this.valueAt, 4);
    store<u32>(places.end, this.heldSize, 8);
    store<u32>(places.end, this.isString ? 1 : 0, 12);
    places.end += placeSize;
    this.count++;
  }

  /** Joins the members of the held instance that have the same name, if there are any. */
  private joinRepeated(): void {
    if (this.count > 1 && !this.hasShape() && (this.differAsWritten() || !this.merged())) this.keepShape();
    this.count = 0;
    this.places.clear();
  }

  private merged(): bool {
    const output = this.output;
    // A string that becomes an element of an array in a string is escaped, which at most doubles it.
    output.reserve(2 * (output.size - this.heldFrom));
    const end = merge(this.count, this.places.start, output.start + this.heldFrom, output.end);
    if (end == 0) return false;
    output.end = end;
    return true;
  }

  /** Address of the name of a member, which ends at the colon before the value. */
  private nameStart(index: i32): usize {
    return this.output.start + this.heldFrom + load<u32>(this.places.start + <usize>index * placeSize);
  }

  private nameLength(index: i32): usize {
    const place = this.places.start + <usize>index * placeSize;
    return load<u32>(place, 4) - load<u32>(place) - 1;
  }

  private hasShape(): bool {
    if (this.shapeCount != this.count) return false;
    let at = this.shape.start;
    for (let index = 0; index < this.count; index++) {
      const length = this.nameLength(index);
      if (at + length > this.shape.end || !areSame(at, this.nameStart(index), length)) return false;
      at += length;
    }
    return at == this.shape.end;
  }

  private keepShape(): void {
    if (this.count > longestShape) return;
    this.shape.clear();
    this.shapeCount = this.count;
    for (let index = 0; index < this.count; index++) {
      const start = this.nameStart(index);
      this.shape.add(start, start + this.nameLength(index));
    }
  }

  /** Whether there are few names, none escaped and no two equal. That is the usual case, which needs no decoding. */
  private differAsWritten(): bool {
    if (this.count > fewNames) return false;
    for (let index = 0; index < this.count; index++) {
      const start = this.nameStart(index);
      const length = this.nameLength(index);
      for (let at = start; at < start + length; at++) if (load<u8>(at) == 0x5c) return false;
      for (let other = 0; other < index; other++) {
        if (this.nameLength(other) == length && areSame(this.nameStart(other), start, length)) return false;
      }
    }
    return true;
  }

  @inline
  private beginCopy(how: i32, at: usize): void {
    this.copying = how;
    this.copiedFrom = at;
  }

  @inline
  private endCopy(end: usize): void {
    this.copyTo(end);
    this.copying = notAtAll;
  }

  @inline
  private copyTo(end: usize): void {
    const output = this.output;
    if (this.copying == asItIs) output.add(this.copiedFrom, end);
    else if (this.copying == escaped) {
      output.reserve(6 * (end - this.copiedFrom));
      output.end = escapeTo(output.end, this.copiedFrom, end);
    } else if (this.copying == intoName) this.name.add(this.copiedFrom, end);
    this.copiedFrom = end;
  }
}

const writer = new InstanceWriter();

/** Begins a reply. Limits in bytes: of one held instance, and of the output at one time. */
export function begin(mostHeld: usize, mostOutput: usize): void {
  writer.begin(mostHeld, mostOutput);
}

/** Reads the next `length` bytes of the text, which are in the input. */
export function push(length: usize): void {
  writer.push(length);
}

/** The text ends here. Bytes given before do not move. */
export function finish(): void {
  writer.finish();
}

/** Address of the bytes that the caller may take. */
export function givenAt(): usize {
  return writer.output.start;
}

/** Number of these bytes. */
export function givenSize(): usize {
  return writer.givenSize;
}

/** The caller has taken the given bytes. */
export function taken(): void {
  writer.taken();
}
