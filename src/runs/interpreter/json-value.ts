import { createHash } from 'node:crypto';

/** Values from this length on are written apart from the state (`writeState`). UTF-16 units. */
export const longText = 512;

/**
 * A value of a run as JSON text, with the digits of its numbers. The object is the value's identity: a state that carries a value on has
 * the same object. So its length, its hash and the places of its items are found once.
 */
export class JsonValue {
  readonly text: string;
  #bytes: number | undefined;
  #id: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Its length in UTF-8. */
  get bytes(): number {
    this.#bytes ??= Buffer.byteLength(this.text);
    return this.#bytes;
  }

  /** A hash of the text, so that the same text has the same id after a crash too. */
  get id(): string {
    this.#id ??= createHash('sha256').update(this.text).digest('base64url').slice(0, 22);
    return this.#id;
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
