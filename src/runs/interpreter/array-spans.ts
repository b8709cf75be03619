import { JsonScanner, type JsonSpanKind } from '#json/json-scanner.ts';
import { JsonValue } from './json-value.ts';

/** The items of an array as spans of its text. */
export interface ArraySpans {
  readonly length: number;
  /** The item's JSON text. */
  text(index: number): string;
}

const known = new WeakMap<JsonValue, ArraySpans>();

/** The items of `value`; undefined where it is no array. It is scanned once, however often it is asked for. */
export function arraySpans(value: JsonValue): ArraySpans | undefined {
  if (!value.text.trimStart().startsWith('[')) return undefined;
  const found = known.get(value);
  if (found !== undefined) return found;
  const spans = scan(value);
  known.set(value, spans);
  return spans;
}

function scan(value: JsonValue): ArraySpans {
  const bytes = Buffer.from(value.text);
  const starts: number[] = [];
  const ends: number[] = [];
  const handler = {
    begin: (_kind: JsonSpanKind, start: number, level: number): void => {
      if (level === 2) starts.push(start);
    },
    end: (_kind: JsonSpanKind, end: number, level: number): void => {
      if (level === 2) ends.push(end);
    },
  };
  const scanner = new JsonScanner({ maxDepth: Infinity, eventDepth: 2, handler });
  scanner.push(bytes);
  scanner.end();
  // In plain ASCII a byte is a character, and the text itself gives the spans.
  const ascii = bytes.length === value.text.length;
  const [from, to] = [Uint32Array.from(starts), Uint32Array.from(ends)];
  return {
    length: from.length,
    text: (index) => {
      const [start = 0, end = 0] = [from[index], to[index]];
      return ascii ? value.text.slice(start, end) : bytes.toString('utf8', start, end);
    },
  };
}

/** All items of a short array. Throws TypeError where it is none. */
export function arrayItems(text: string): readonly JsonValue[] {
  const spans = arraySpans(new JsonValue(text));
  if (spans === undefined) throw new TypeError('The value is no array.');
  return Array.from({ length: spans.length }, (_item, index) => new JsonValue(spans.text(index)));
}
