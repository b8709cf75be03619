/**
 * AssemblyScript: a far side's JSON into the answer of a query, in one pass; src/relay/instance-writer.ts is what calls it, and
 * says what the answer is. One reply at a time: `begin`, then the text in parts.
 *
 * What is read is written at once. Of an instance the places of its members are kept until it is complete, and it is not given
 * on before: a member may come again, and all of its values then become one. That is rare, and done by the caller (`merge`).
 */
import { escapeTo } from './escaping';
import { input, inputSize as size } from './input';
import { addBytes, areSame, Block } from './memory';
import { arraySpan, keySpan, objectSpan, reportingTable, Scanner, silentTable, stateAfterFirstByte, stringSpan } from './scanner';

/**
 * Joins members of the same name in an instance, of which `count` are complete. Gives the new end of what is written; 0 where all
 * names differ.
 */
declare function merge(count: i32, places: usize, instance: usize, end: usize): usize;
/** Throws JsonSyntaxError in the caller: `at` bytes from where the part begins a name is too long. */
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
/** Bytes that are written behind the last part: the end of a number, of its instance, of the answer. */
const lastWords: usize = 8;

/** Where in the reply the next span stands: what it is depends on that alone. */
const atRoot = 0;
const inMembers = 1;
const inEntries = 2;
const inInstance = 3;
const inSingle = 4;

/** How what is read passes through. */
const notAtAll = 0;
const intoName = 1;
const asItIs = 2;
const escaped = 3;

/** Of a complete member, from where its instance begins: its name, its value, its end, and whether that is a string. */
const placeSize: usize = 16;
/** More names than this are not kept for the next instance, and not held against each other here. */
const longestShape: i32 = 256;
const fewNames: i32 = 16;

class InstanceWriter {
  private readonly scanner: Scanner<InstanceWriter> = new Scanner<InstanceWriter>();
  /** What is written. */
  readonly output: Block = new Block(131072);
  private hasBegun: bool = false;
  /** What is on its way from the input, and from where on. */
  private copying: i32 = notAtAll;
  private copiedFrom: usize = 0;

  private place: i32 = atRoot;
  /** The place around the value that is one instance. */
  private outer: i32 = atRoot;
  private memberCount: u32 = 0;
  private instanceCount: u32 = 0;
  /** The raw name token that single values are named after. */
  private readonly name: Block = new Block(256);

  /** Whether the instance at the end of the output is held, from where, and how long it may become. */
  private isHeld: bool = false;
  private heldFrom: usize = 0;
  private holdLimit: usize = 0;
  private hasMembers: bool = false;
  private count: i32 = 0;
  private readonly places: Block = new Block(1024);
  /** The member that is not complete. */
  private nameAt: u32 = 0;
  private valueAt: u32 = 0;
  private isString: bool = false;
  /** The names of the last instance without repeated ones: the entries of a list mostly have the same. */
  private readonly shape: Block = new Block(256);
  private shapeCount: i32 = 0;

  /** Begins a reply, whatever became of the one before. */
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
    // For what is still to come when the text is over: until then nothing that was given may move.
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

  /** Nothing of it has to be escaped. */
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

  /** NSO's legacy wrapper of several roots: the first member of the whole, unwrapped. */
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
    // A string that becomes part of an array in a string is escaped: twice as long at most.
    output.reserve(2 * (output.size - this.heldFrom));
    const end = merge(this.count, this.places.start, output.start + this.heldFrom, output.end);
    if (end == 0) return false;
    output.end = end;
    return true;
  }

  /** Where the name of a member begins; it ends at the colon before the value. */
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

  /** Few names, none of them escaped, no two the same: mostly it is so, and then nothing has to be decoded. */
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

/** Begins a reply: bytes of one instance that are held at most, and of output that there may be at once. */
export function begin(mostHeld: usize, mostOutput: usize): void {
  writer.begin(mostHeld, mostOutput);
}

/** So many bytes of the text, from the input. */
export function push(length: usize): void {
  writer.push(length);
}

/** The text is over. What was given before stays where it is. */
export function finish(): void {
  writer.finish();
}

/** Where what may be taken begins, and how long it is. */
export function givenAt(): usize {
  return writer.output.start;
}

export function givenSize(): usize {
  return writer.givenSize;
}

/** What was given so far has been taken. */
export function taken(): void {
  writer.taken();
}
