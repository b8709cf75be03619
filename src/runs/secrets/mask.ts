import { createSpellings, type Spellings } from './spellings.ts';

/** Replaces secrets in a JSON text. */
export type Mask = (jsonText: string) => string;

/** Characters: a shorter value would mask parts of ordinary words. */
const minLength = 4;
const masked = '***';

/**
 * The mask writes `***` for each appearance of a value in the strings and names of a JSON text, in each spelling of `createSpellings`. A
 * number that is a value becomes `"***"`. The text stays valid JSON, and what has no value stays as it is written.
 */
export function createMask(values: readonly string[]): Mask {
  const long = [...new Set(values)].filter((value) => value.length >= minLength);
  if (long.length === 0) return (text) => text;
  const spellings = createSpellings(long);
  const numbers = new Set(long);
  return (text) => {
    const present = spellings.within(text);
    return present === undefined ? text : text.replace(tokens, (written) => maskToken(written, present, numbers));
  };
}

function maskToken(written: string, spellings: Spellings, numbers: ReadonlySet<string>): string {
  if (!written.startsWith('"')) return numbers.has(written) ? `"${masked}"` : written;
  const value = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
  return spellings.foundIn(value).length === 0 ? written : JSON.stringify(maskValues(value, spellings));
}

/** Strings and numbers of a valid JSON text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gsu;

/** What remains may have a value again, such as `****` around a mask, so it is looked through until it has none. Each round is shorter. */
function maskValues(value: string, spellings: Spellings): string {
  let text = value;
  for (;;) {
    const patterns = spellings.foundIn(text);
    const ranges = patterns.flatMap((pattern) => placesOf(pattern, text)).toSorted(([one], [other]) => one - other);
    if (ranges.length === 0) return text;
    let [out, end, open] = ['', 0, 0];
    for (const [from, to] of ranges) {
      if (from >= open) {
        out += `${text.slice(end, from)}${masked}`;
        open = to;
      }
      open = Math.max(open, to);
      end = open;
    }
    text = out + text.slice(end);
  }
}

function placesOf(pattern: RegExp, text: string): readonly (readonly [number, number])[] {
  const places: (readonly [number, number])[] = [];
  pattern.lastIndex = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    places.push([found.index, found.index + found[0].length]);
    // One may begin inside of another.
    pattern.lastIndex = found.index + ((found[0].codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
  }
  return places;
}

/** The mask for a text that is no JSON. */
export function textMask(mask: Mask): (text: string) => string {
  return (text) => JSON.parse(mask(JSON.stringify(text))) as string;
}
