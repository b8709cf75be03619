/** Replaces secrets in a JSON text. */
export type Mask = (jsonText: string) => string;

/** Characters that a value has at least: a shorter one would mask parts of ordinary words. */
const shortest = 4;
const masked = '***';

/**
 * Makes the function that writes `***` for each appearance of a value in the strings and names of a JSON text, with any escapes. A number
 * that is a value becomes `"***"`. Values are also found in a JSON text within a string, in percent-encoding, and in base64 from 6 bytes on.
 * The text stays valid JSON, and what has no value stays as it is written. Values with less than 4 characters are not masked.
 */
export function createMask(values: readonly string[]): Mask {
  const long = [...new Set(values)].filter((value) => value.length >= shortest);
  if (long.length === 0) return (text) => text;
  const needles = [...new Set(long.flatMap(spellings))];
  const numbers = new Set(long);
  const isPlain = (text: string): boolean => needles.every((needle) => !text.includes(needle));
  const token = (written: string): string => {
    if (!written.startsWith('"')) return numbers.has(written) ? `"${masked}"` : written;
    if (!written.includes('\\') && isPlain(written)) return written;
    const value = JSON.parse(written) as string;
    return isPlain(value) ? written : JSON.stringify(withoutNeedles(value, needles));
  };
  // A text without an escape is itself what its strings mean.
  return (text) => (!text.includes('\\') && isPlain(text) ? text : text.replace(tokens, token));
}

/** Strings and numbers of a valid JSON text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gsu;

/** What remains may have a value again, such as `****` around a mask, so it is looked through until it has none. Each round is shorter. */
function withoutNeedles(value: string, needles: readonly string[]): string {
  let text = value;
  for (;;) {
    const ranges = needles.flatMap((needle) => placesOf(needle, text)).toSorted(([one], [other]) => one - other);
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

function placesOf(needle: string, text: string): readonly (readonly [number, number])[] {
  const places: (readonly [number, number])[] = [];
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) places.push([at, at + needle.length]);
  return places;
}

/** Bytes from which on the base64 of a value is looked for: a shorter one may be part of any base64. */
const shortestCoded = 6;

/**
 * The value, and how far sides echo it: in a JSON text, percent-encoded, or in base64 at any offset. The characters of base64 that neighbours
 * change are left out.
 */
function spellings(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const coded = bytes.length < shortestCoded ? [] : [0, 1, 2].flatMap((before) => base64At(bytes, before));
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed()), ...coded];
}

function base64At(bytes: Buffer, before: number): readonly string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/u, '');
  const whole = Math.floor(((before + bytes.length) * 8) / 6);
  const core = text.slice(Math.ceil((before * 8) / 6), whole);
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
}
