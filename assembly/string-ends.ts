/**
 * The bytes that end a run of plain bytes in a JSON string, and that are escaped in one (RFC 8259 section 7). They are quotes,
 * backslashes and control characters. SIMD finds them in sixteen bytes at once.
 *
 * V8 makes a constant vector again at each use, with three instructions. A vector that is loaded before a loop stays in its register.
 */
export const quotes = memory.data(16, 16);
export const backslashes = memory.data(16, 16);
export const lastControls = memory.data(16, 16);

if (ASC_FEATURE_SIMD) {
  v128.store(quotes, i8x16.splat(0x22));
  v128.store(backslashes, i8x16.splat(0x5c));
  v128.store(lastControls, i8x16.splat(0x1f));
}

/** The lanes of control characters. `lastControl` is loaded from `lastControls`. */
@inline
export function controlsIn(bytes: v128, lastControl: v128): v128 {
  return i8x16.eq(i8x16.min_u(bytes, lastControl), bytes);
}

/** The lanes of all bytes that end a run. The arguments are loaded from the three constants. */
@inline
export function endsIn(bytes: v128, quote: v128, backslash: v128, lastControl: v128): v128 {
  return v128.or(controlsIn(bytes, lastControl), v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)));
}
