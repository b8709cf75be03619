import { createHash } from 'node:crypto';
import { JsonScanner, type JsonSpanKind } from '#json/json-scanner.ts';

/** Values from this length on are written apart from the state (`writeState`). UTF-16 units. */
export const longText = 512;

/**
 * A value of a run as JSON text, with the digits of its numbers. A state that carries a value on has the same object, so its length, its hash
 * and the places of its items are found once.
 */
export class JsonValue {
  readonly text: string;
  #bytes: number | undefined;
  #id: string | undefined;
  #spans: ArraySpans | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): number {
    return (this.#bytes ??= Buffer.byteLength(this.text));
  }

  /** A hash of the text, so that the same text has the same id after a crash too. */
  get id(): string {
    return (this.#id ??= createHash('sha256').update(this.text).digest('base64url').slice(0, 22));
  }

  get spans(): ArraySpans | undefined {
    return this.text.trimStart().startsWith('[') ? (this.#spans ??= scan(this.text)) : undefined;
  }
}

export const nullValue = new JsonValue('null');

/** As `if` of jq: only false and null are false. */
export function isTrue(value: JsonValue): boolean {
  return !/^\s*(?:false|null)\s*$/u.test(value.text);
}

export function arrayOf(items: readonly JsonValue[]): JsonValue {
  return new JsonValue(`[${items.map(({ text }) => text).join(',')}]`);
}

/** The items of an array as spans of its text. */
export interface ArraySpans {
  readonly length: number;
  /** JSON text. */
  text(index: number): string;
}

function scan(json: string): ArraySpans {
  const bytes = Buffer.from(json);
  const starts: number[] = [];
  const ends: number[] = [];
  const noteIn =
    (places: number[]) =>
    (_kind: JsonSpanKind, at: number, level: number): void => {
      if (level === 2) places.push(at);
    };
  const handler = { begin: noteIn(starts), end: noteIn(ends) };
  const scanner = new JsonScanner({ maxDepth: Infinity, eventDepth: 2, handler });
  scanner.push(bytes);
  scanner.end();
  // In plain ASCII a byte is a character, and the text itself gives the spans.
  const isAscii = bytes.length === json.length;
  const [from, to] = [Uint32Array.from(starts), Uint32Array.from(ends)];
  return {
    length: from.length,
    text: (index) => {
      const [start = 0, end = 0] = [from[index], to[index]];
      return isAscii ? json.slice(start, end) : bytes.toString('utf8', start, end);
    },
  };
}

/** All items of a short array. Throws TypeError where it is none. */
export function arrayItems(text: string): readonly JsonValue[] {
  const { spans } = new JsonValue(text);
  if (spans === undefined) throw new TypeError('The value is no array.');
  return Array.from({ length: spans.length }, (_item, index) => new JsonValue(spans.text(index)));
}
