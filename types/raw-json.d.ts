/** The part of "JSON.parse source text access" (ECMAScript 2026) that src/ uses; the declarations of TypeScript 6 lack it. */
interface RawJson {
  readonly rawJSON: string;
}

interface JSON {
  /** A value that `stringify` writes as this text. Throws SyntaxError where it is no JSON of a primitive value. */
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
  /** `source`: the text of a primitive value. */
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}
