/**
 * AssemblyScript: a strict RFC 8259 scanner over bytes that come in parts, cut anywhere, which is told of by the tables of
 * src/json/json-grammar.ts. Whether the bytes are UTF-8 is not its matter.
 */

/** Throws JsonSyntaxError in the caller: `at` bytes from where the part begins. */
declare function refuse(fault: i32, at: usize, state: u32, byte: u32): void;

const syntaxFault = 0;
const depthFault = 1;
const incompleteFault = 2;

const mostDepth: u32 = 1000000;

/** Its two tables of 39 states, and the state after a first byte; the caller writes them here. */
export const silentTable = memory.data(9984);
export const reportingTable = memory.data(9984);
export const stateAfterFirstByte = memory.data(256);

/** For each open container the state after a value in it. */
const containers = memory.data(1000000);

/** Its states and actions. */
const inKey: u32 = 1;
const beforeValue: u32 = 12;
const beforeFirstItem: u32 = 13;
const beforeFirstKey: u32 = 14;
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

/** What a span is. */
export const keySpan = 0;
export const objectSpan = 1;
export const arraySpan = 2;
export const stringSpan = 3;
export const otherSpan = 4;

/**
 * A text on its way. `H` is told of spans: `beginSpan(kind, at, level)`, and `endSpan(kind, end, level)` with `end` behind the last
 * byte.
 */
export class Scanner<H> {
  /** Spans up to this level are reported; it may be changed as one is. The outermost value has level 1, what is in it 2. */
  reported: u32 = 0;
  private state: u32 = beforeValue;
  private afterValue: u32 = afterDocument;
  private depth: u32 = 0;
  private tokenKind: i32 = otherSpan;

  begin(level: u32): void {
    this.state = beforeValue;
    this.afterValue = afterDocument;
    this.depth = 0;
    this.reported = level;
  }

  /** A part of the text; `spare` bytes beyond it may be read. */
  push(handler: H, from: usize, end: usize): void {
    let at = from;
    let state = this.state;
    let afterValue = this.afterValue;
    let depth = this.depth;
    let table = depth < this.reported ? reportingTable : silentTable;
    while (at < end) {
      if (state <= inKey) {
        at = runEnd(at, end);
        if (at == end) break;
      }
      const byte = <u32>load<u8>(at);
      const next = <u32>load<u8>(table + ((state << 8) | byte));
      if (next < firstAction) {
        at++;
        // A run of digits or of white space.
        if (next == state) {
          const row = table + (state << 8);
          while (at < end && load<u8>(row + load<u8>(at)) == state) at++;
        }
        state = next;
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
          // The byte once more: kept over the call it would be written to memory and read again at every byte of the text.
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
    }
    this.state = state;
    this.afterValue = afterValue;
    this.depth = depth;
  }

  /** The text is over. */
  end(handler: H, at: usize): void {
    const state = this.state;
    const isNumber = state == zero || state == integer || state == fraction || state == exponentDigits;
    if (this.depth == 0 && isNumber) {
      if (this.reported > 0) handler.endSpan(this.tokenKind, at, 1);
    } else if (state != afterDocument) refused(incompleteFault, 0, state, 0);
  }
}

/** The end of a run of plain string bytes: a quote, a backslash, a control character, or the part's end. */
@inline
function runEnd(at: usize, end: usize): usize {
  if (ASC_FEATURE_SIMD) {
    for (; at < end; at += 16) {
      const bytes = v128.load(at);
      const controls = i8x16.lt_u(bytes, i8x16.splat(0x20));
      const others = v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c)));
      const mask = i8x16.bitmask(v128.or(controls, others));
      if (mask != 0) return min<usize>(at + ctz(mask), end);
    }
    return end;
  }
  while (at < end) {
    const byte = load<u8>(at);
    if (byte < 0x20 || byte == 0x22 || byte == 0x5c) break;
    at++;
  }
  return at;
}

/** The compiler does not know that the caller's part does not return. */
@inline
function refused(fault: i32, at: usize, state: u32, byte: u32): void {
  refuse(fault, at, state, byte);
  unreachable();
}
