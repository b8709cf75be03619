import * as fc from 'fast-check';

/**
 * A character of any code point but the surrogates. For the same characters the unit `binary` of fast-check makes a table, which takes
 * each process four seconds.
 */
const character = fc.integer({ min: 0, max: 0x10_f7_ff }).map((at) => String.fromCodePoint(at < 0xd8_00 ? at : at + 0x8_00));

/** Well-formed texts of any characters. */
export function anyText(lengths: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: character });
}
