/**
 * AssemblyScript: a strict RFC 8259 scanner over bytes that come in parts, cut anywhere. The tables of src/json/json-grammar.ts
 * control it. It does not check UTF-8.
 */
import { backslashes, endsIn, lastControls, quotes } from './string-ends';

/** Throws JsonSyntaxError in the caller; `at` counts from the beginning of the part. */
declare function refuse(fault: i32, at: usize, state: u32, byte: u32): void;

const syntaxFault = 0;
const depthFault = 1;
const incompleteFault = 2;

const mostDepth: u32 = 1000000;

/** Two tables of 39 states each, and the state after a first byte. The caller writes them here. */
export const silentTable = memory.data(9984);
export const reportingTable = memory.data(9984);
export const stateAfterFirstByte = memory.data(256);

/**
 * Addresses in a part of the bytes that end a run of plain string bytes: quotes, backslashes, control characters; and the part's end.
 * They are found beforehand, so that the processor need not wait for the end of one string to search the next.
 */
const marks = memory.data(262148);
const markSize: usize = 4;

/** For each open container, the state after a value in it. */
const containers = memory.data(1000000);

/** States and actions of the tables. */
const inString: u32 = 0;
const inKey: u32 = 1;
const stringEscape: u32 = 2;
const stringHex: u32 = 3;
const beforeValue: u32 = 12;
const beforeFirstItem: u32 = 13;
const beforeFirstKey: u32 = 14;
const beforeKey: u32 = 15;
const beforeColon: u32 = 16;
const afterMember: u32 = 17;
const afterItem: u32 = 18;
const afterDocument: u32 = 19;
const zero: u32 = 22;
const integer: u32 = 23;
const fraction: u32 = 25;
const exponentDigits: u32 = 28;
const firstAction: u32 = 64;
const skipNumber: u32 = 64;
const skipValue: u32 = 65;
const openObject: u32 = 66;
const openArray: u32 = 67;
const closeContainer: u32 = 68;
const endValue: u32 = 69;
const endNumber: u32 = 70;
const endKey: u32 = 71;
const beginToken: u32 = 72;

const quote: u8 = 0x22;
const naught: u8 = 0x30;
const nine: u8 = 0x39;
const colon: u8 = 0x3a;
const quoteAndColon: u16 = 0x3a22;
const trueLetters: u32 = 0x65757274;
const nullLetters: u32 = 0x6c6c756e;
/** The first four letters of "false". */
const falseLetters: u32 = 0x736c6166;
const plus: u8 = 0x2b;
const minus: u8 = 0x2d;
const point: u8 = 0x2e;
const bracket: u8 = 0x5b;
const backslash: u8 = 0x5c;
const brace: u8 = 0x7b;

/** Kinds of spans. */
export const keySpan = 0;
export const objectSpan = 1;
export const arraySpan = 2;
export const stringSpan = 3;
export const otherSpan = 4;

/**
 * Scans one text at a time and reports spans to `H`: `beginSpan(kind, at, level)`, and `endSpan(kind, end, level)` with `end` after the
 * last byte. A span that is no container may also be reported by one call, `span(kind, at, end, level)`.
 */
export class Scanner<H> {
  /** Spans up to this level are reported. `H` may change it in a report. The outermost value has level 1, its members 2. */
  reported: u32 = 0;
  private state: u32 = beforeValue;
  /** The next mark, or one before it. */
  private mark: usize = marks;
  private afterValue: u32 = afterDocument;
  private depth: u32 = 0;
  private tokenKind: i32 = otherSpan;

  begin(level: u32): void {
    this.state = beforeValue;
    this.afterValue = afterDocument;
    this.depth = 0;
    this.reported = level;
  }

  /** Scans a part of at most 65,536 bytes. It may read 80 bytes beyond, and overwrites the first of them. */
  push(handler: H, from: usize, end: usize): void {
    // No token contains this byte, so that a search for the end of a token also stops at the end of the part.
    store<u8>(end, 0);
    mark(from, end);
    this.mark = marks;
    let at = from;
    while (at < end) {
      at = this.byTable(handler, from, at, end);
      if (this.depth > 0) at = this.byToken(handler, at);
    }
  }

  /**
   * Reads token by token, from the beginning of a member or an item. So the processor need not wait for the table at each byte. Stops
   * before a token that is wrong or cut by the end of the part; `byTable` reads these.
   */
  private byToken(handler: H, from: usize): usize {
    let at = from;
    let state = this.state;
    let afterValue = this.afterValue;
    let depth = this.depth;
    let mark = this.mark;
    while (true) {
      at = spaceEnd(at);
      if (afterValue == afterMember) {
        if (load<u8>(at) != quote) return this.stop(at, state, depth, mark);
        const closing = closingMark(mark, at);
        const end = load<u32>(closing) + 1;
        let colonAt: usize = end;
        if (load<u16>(end - 1) != quoteAndColon) {
          colonAt = spaceEnd(end);
          if (load<u8>(end - 1) != quote) return this.stop(at, state, depth, mark);
          if (load<u8>(colonAt) != colon) return this.stop(at, state, depth, mark);
        }
        mark = closing + markSize;
        if (depth < this.reported) handler.span(keySpan, at, end, depth + 1);
        state = beforeValue;
        at = spaceEnd(colonAt + 1);
      }
      const byte = <u32>load<u8>(at);
      if (byte == bracket || byte == brace) {
        if (depth == mostDepth) return this.stop(at, state, depth, mark);
        const isObject = byte == brace;
        if (depth < this.reported) handler.beginSpan(isObject ? objectSpan : arraySpan, at, depth + 1);
        afterValue = isObject ? afterMember : afterItem;
        state = isObject ? beforeFirstKey : beforeFirstItem;
        store<u8>(containers + depth, afterValue);
        depth++;
        at = spaceEnd(at + 1);
        if (next(state, at) != closeContainer) continue;
      } else if (byte == quote) {
        const closing = closingMark(mark, at);
        const end = load<u32>(closing) + 1;
        if (load<u8>(end - 1) != quote) return this.stop(at, state, depth, mark);
        mark = closing + markSize;
        if (depth < this.reported) handler.span(stringSpan, at, end, depth + 1);
        at = end;
      } else {
        let end = at;
        if (byte <= nine) {
          if (byte == minus) end++;
          if (!isDigit(end)) return this.stop(at, state, depth, mark);
          end = load<u8>(end) == naught ? end + 1 : digitsEnd(end + 1);
          if (load<u8>(end) == point) {
            if (!isDigit(end + 1)) return this.stop(at, state, depth, mark);
            end = digitsEnd(end + 2);
          }
          if ((load<u8>(end) | 0x20) == 0x65) {
            end += load<u8>(end + 1) == plus || load<u8>(end + 1) == minus ? 2 : 1;
            if (!isDigit(end)) return this.stop(at, state, depth, mark);
            end = digitsEnd(end + 1);
          }
          if (next(integer, end) != skipNumber) return this.stop(at, state, depth, mark);
        } else {
          const letters = load<u32>(at);
          if (letters == trueLetters || letters == nullLetters) end += 4;
          else if (letters == falseLetters && load<u8>(at + 4) == 0x65) end += 5;
          else return this.stop(at, state, depth, mark);
        }
        if (depth < this.reported) handler.span(otherSpan, at, end, depth + 1);
        at = end;
      }
      while (true) {
        at = spaceEnd(at);
        const then = next(afterValue, at);
        if (then != closeContainer) {
          if (then >= firstAction || depth == 0) return this.stop(at, afterValue, depth, mark);
          state = then;
          at++;
          break;
        }
        const kind = afterValue == afterMember ? objectSpan : arraySpan;
        at++;
        depth--;
        afterValue = depth == 0 ? afterDocument : load<u8>(containers + depth - 1);
        if (depth < this.reported) handler.endSpan(kind, at, depth + 1);
      }
    }
  }

  private stop(at: usize, state: u32, depth: u32, mark: usize): usize {
    this.state = state;
    this.afterValue = depth == 0 ? afterDocument : load<u8>(containers + depth - 1);
    this.depth = depth;
    this.mark = mark;
    return at;
  }

  /** Reads byte by byte, up to the beginning of a member or an item. */
  private byTable(handler: H, from: usize, start: usize, end: usize): usize {
    let at = start;
    let state = this.state;
    let afterValue = this.afterValue;
    let depth = this.depth;
    let table = depth < this.reported ? reportingTable : silentTable;
    while (at < end) {
      if (state <= inKey) {
        this.mark = markFrom(this.mark, at);
        at = load<u32>(this.mark);
        if (at == end) break;
      }
      const byte = <u32>load<u8>(at);
      const next = <u32>load<u8>(table + ((state << 8) | byte));
      if (next < firstAction) {
        at++;
        state = next;
        if (state == beforeKey || (state == beforeValue && afterValue == afterItem)) break;
        continue;
      }
      switch (next) {
        case skipNumber:
          // The byte that ends a number belongs to what follows it.
          state = afterValue;
          continue;
        case skipValue:
          state = afterValue;
          break;
        case openObject:
        case openArray: {
          const isObject = next == openObject;
          if (depth == mostDepth) refused(depthFault, at - from, state, byte);
          if (depth < this.reported) handler.beginSpan(isObject ? objectSpan : arraySpan, at, depth + 1);
          store<u8>(containers + depth, isObject ? afterMember : afterItem);
          depth++;
          afterValue = isObject ? afterMember : afterItem;
          state = isObject ? beforeFirstKey : beforeFirstItem;
          table = depth < this.reported ? reportingTable : silentTable;
          break;
        }
        case closeContainer: {
          const kind = afterValue == afterMember ? objectSpan : arraySpan;
          depth--;
          afterValue = depth == 0 ? afterDocument : load<u8>(containers + depth - 1);
          if (depth < this.reported) handler.endSpan(kind, at + 1, depth + 1);
          state = afterValue;
          table = depth < this.reported ? reportingTable : silentTable;
          break;
        }
        case beginToken: {
          const isKey = state != beforeValue && state != beforeFirstItem;
          const kind = isKey ? keySpan : byte == 0x22 ? stringSpan : otherSpan;
          this.tokenKind = kind;
          handler.beginSpan(kind, at, depth + 1);
          // The byte is loaded again. Kept over the call, V8 would store it in memory and load it at every byte of the text.
          state = isKey ? inKey : load<u8>(stateAfterFirstByte + load<u8>(at));
          break;
        }
        case endKey:
          handler.endSpan(keySpan, at + 1, depth + 1);
          state = beforeColon;
          break;
        case endNumber:
          handler.endSpan(this.tokenKind, at, depth + 1);
          state = afterValue;
          continue;
        case endValue:
          handler.endSpan(this.tokenKind, at + 1, depth + 1);
          state = afterValue;
          break;
        default:
          refused(syntaxFault, at - from, state, byte);
      }
      at++;
      if (state == beforeFirstItem || state == beforeFirstKey) break;
    }
    this.state = state;
    this.afterValue = afterValue;
    this.depth = depth;
    return at;
  }

  /** The text ends here. */
  end(handler: H, at: usize): void {
    const state = this.state;
    const isNumber = state == zero || state == integer || state == fraction || state == exponentDigits;
    if (this.depth == 0 && isNumber) {
      if (this.reported > 0) handler.endSpan(this.tokenKind, at, 1);
    } else if (state != afterDocument) refused(incompleteFault, 0, state, 0);
  }
}

function mark(from: usize, end: usize): void {
  let mark = marks;
  if (ASC_FEATURE_SIMD) {
    const quote = v128.load(quotes);
    const backslash = v128.load(backslashes);
    const lastControl = v128.load(lastControls);
    for (let at = from; at < end; at += 64) {
      let found = stringEnds(at, quote, backslash, lastControl);
      found |= stringEnds(at + 16, quote, backslash, lastControl) << 16;
      found |= stringEnds(at + 32, quote, backslash, lastControl) << 32;
      found |= stringEnds(at + 48, quote, backslash, lastControl) << 48;
      for (; found != 0; found &= found - 1) {
        store<u32>(mark, at + <usize>ctz(found));
        mark += markSize;
      }
    }
  } else {
    for (let at = from; at < end; at++) {
      store<u32>(mark, at);
      mark += next(inString, at) == inString ? 0 : markSize;
    }
  }
  store<u32>(mark, end);
}

/** The string ends in sixteen bytes, one bit a byte. */
@inline
function stringEnds(at: usize, quote: v128, backslash: v128, lastControl: v128): u64 {
  return <u64>(<u32>i8x16.bitmask(endsIn(v128.load(at), quote, backslash, lastControl)));
}

/** The first mark from `at` on. */
@inline
function markFrom(mark: usize, at: usize): usize {
  while (load<u32>(mark) < <u32>at) mark += markSize;
  return mark;
}

/** The mark of the quote that ends the string at `from`; the mark of another byte where the string is wrong or cut. */
@inline
function closingMark(mark: usize, from: usize): usize {
  mark = markFrom(mark, from + 1);
  while (load<u8>(load<u32>(mark)) == backslash) {
    const at: usize = load<u32>(mark);
    const then = next(stringEscape, at + 1);
    if (then == inString) mark = markFrom(mark, at + 2);
    else if (then == stringHex && isHex(at + 2) && isHex(at + 3) && isHex(at + 4) && isHex(at + 5)) mark = markFrom(mark, at + 6);
    else break;
  }
  return mark;
}

@inline
function isHex(at: usize): bool {
  return next(stringHex, at) < firstAction;
}

/** The state or action after a byte, without reports of spans. */
@inline
function next(state: u32, at: usize): u32 {
  return load<u8>(silentTable + ((state << 8) | <u32>load<u8>(at)));
}

@inline
function spaceEnd(at: usize): usize {
  if (load<u8>(at) > 0x20) return at;
  if (ASC_FEATURE_SIMD) {
    // Each white-space byte is in the lane of its last four bits.
    const kinds = i8x16(0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0x0a, 0, 0, 0x0d, 0, 0);
    let others = 0;
    for (; others == 0; at += 16) {
      const bytes = v128.load(at);
      others = i8x16.bitmask(i8x16.ne(bytes, i8x16.swizzle(kinds, v128.and(bytes, i8x16.splat(15)))));
    }
    return at - 16 + ctz(others);
  }
  while (next(beforeValue, at) == beforeValue) at++;
  return at;
}

@inline
function isDigit(at: usize): bool {
  return <u32>load<u8>(at) - naught < 10;
}

@inline
function digitsEnd(at: usize): usize {
  if (!isDigit(at)) return at;
  if (ASC_FEATURE_SIMD) {
    let others = 0;
    for (; others == 0; at += 16) others = i8x16.bitmask(i8x16.ge_u(i8x16.sub(v128.load(at), i8x16.splat(naught)), i8x16.splat(10)));
    return at - 16 + ctz(others);
  }
  while (next(integer, at) == integer) at++;
  return at;
}

/** Ends the scan; the compiler does not know that `refuse` throws. */
@inline
function refused(fault: i32, at: usize, state: u32, byte: u32): void {
  refuse(fault, at, state, byte);
  unreachable();
}
