/**
 * The inside of a JSON string literal (RFC 8259 section 7) for bytes that are valid UTF-8. Only ASCII is escaped, so that bytes from
 * 0x80 on stay unchanged and a text may be cut anywhere.
 *
 * With SIMD, one shuffle escapes eight bytes. The bytes of sixteen that need a backslash give a mask of sixteen bits. Each half of the mask
 * selects a row of a table with the place of each byte.
 */
import { backslashes, controlsIn, endsIn, lastControls, quotes } from './string-ends';

/** Number of bytes that may be read beyond the end of the input, and overwritten beyond the end of the output. */
export const spare: usize = 32;

/** 256 masks of sixteen lanes. */
const shuffles = memory.data(4096);
/** The lane of a shuffle that holds a backslash. */
const backslashLane: u8 = 8;
/** For each control character up to 0x0f the letter after the backslash; 0 where there is no short form. */
const letters = memory.data(16, 16);

if (ASC_FEATURE_SIMD) {
  v128.store(letters, i8x16(0, 0, 0, 0, 0, 0, 0, 0, 0x62, 0x74, 0x6e, 0, 0x66, 0x72, 0, 0));
  for (let mask: u32 = 0; mask < 256; mask++) {
    let at = shuffles + ((<usize>mask) << 4);
    for (let lane: u32 = 0; lane < 8; lane++) {
      if ((mask >> lane) & 1) store<u8>(at++, backslashLane);
      store<u8>(at++, lane);
    }
  }
}

/** Escapes the bytes before `end`; returns the end of the output, which is at most six times as long. */
export function escapeTo(to: usize, from: usize, end: usize): usize {
  if (!ASC_FEATURE_SIMD) return escapeEach(to, from, end);
  const quote = v128.load(quotes);
  const backslash = v128.load(backslashes);
  const lastControl = v128.load(lastControls);
  for (; from + 16 <= end; from += 16) to = escapeBlock(to, from, 16, quote, backslash, lastControl);
  return from < end ? escapeBlock(to, from, end - from, quote, backslash, lastControl) : to;
}

/** Escapes at most sixteen bytes; returns the end of the output. */
@inline
function escapeBlock(to: usize, from: usize, length: usize, quote: v128, backslash: v128, lastControl: v128): usize {
  let bytes = v128.load(from);
  const lanes: i32 = (1 << (<i32>length)) - 1;
  const mask = i8x16.bitmask(endsIn(bytes, quote, backslash, lastControl)) & lanes;
  if (mask == 0) {
    v128.store(to, bytes);
    return to + length;
  }
  const controls = controlsIn(bytes, lastControl);
  if (i8x16.bitmask(controls) & lanes) {
    // Control characters without a short form get 0 here.
    bytes = v128.bitselect(i8x16.swizzle(v128.load(letters), bytes), bytes, controls);
    if (i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(0))) & lanes) return escapeEach(to, from, from + length);
  }
  // V8 compiles each of these two shuffles to one instruction.
  const first = v128.shuffle<u8>(bytes, backslash, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  storeShuffled(to, first, mask & 0xff);
  const second = v128.shuffle<u8>(bytes, backslash, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  storeShuffled(to + 8 + popcnt(mask & 0xff), second, mask >> 8);
  return to + length + popcnt(mask);
}

/** Stores eight bytes, with a backslash before each byte in the mask. */
@inline
function storeShuffled(to: usize, bytes: v128, mask: u32): void {
  v128.store(to, i8x16.swizzle(bytes, v128.load(shuffles + ((<usize>mask) << 4))));
}

function escapeEach(to: usize, from: usize, end: usize): usize {
  for (; from < end; from++) {
    const byte = <u32>load<u8>(from);
    if (byte >= 0x20 && byte != 0x22 && byte != 0x5c) {
      store<u8>(to++, byte);
      continue;
    }
    const letter = letterOf(byte);
    store<u8>(to, 0x5c);
    store<u8>(to + 1, letter);
    to += 2;
    if (letter == 0x75) {
      store<u16>(to, 0x3030);
      store<u8>(to + 2, 0x30 + (byte >> 4));
      store<u8>(to + 3, hexDigit(byte & 15));
      to += 4;
    }
  }
  return to;
}

/** The letter after the backslash; u where there is no short form. */
function letterOf(byte: u32): u32 {
  switch (byte) {
    case 0x08:
      return 0x62;
    case 0x09:
      return 0x74;
    case 0x0a:
      return 0x6e;
    case 0x0c:
      return 0x66;
    case 0x0d:
      return 0x72;
    case 0x22:
    case 0x5c:
      return byte;
    default:
      return 0x75;
  }
}

function hexDigit(value: u32): u32 {
  return value < 10 ? 0x30 + value : 0x57 + value;
}
