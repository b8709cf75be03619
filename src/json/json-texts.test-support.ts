import * as fc from 'fast-check';

/** A JSON text with its parts, so that a test need not parse it with the code under test. */
export interface JsonText {
  readonly kind: 'object' | 'array' | 'leaf';
  /** The exact text, without white space around it. */
  readonly text: string;
  readonly members: readonly { readonly token: string; readonly value: JsonText }[];
  readonly items: readonly JsonText[];
}

/**
 * The value of a text. V8 14.6 reads a name that is one escape as a backslash, where it read an object of that shape before:
 * JSON.parse('{"a":0,"\\\\":0}'), then JSON.parse('{"a":0,"\\n":0}'). So this function gives JSON.parse no object.
 */
export function valueOf({ kind, text, members, items }: JsonText): unknown {
  if (kind === 'leaf') return JSON.parse(text);
  if (kind === 'array') return items.map(valueOf);
  return Object.fromEntries(members.map(({ token, value }) => [JSON.parse(token) as string, valueOf(value)]));
}

const space = fc.oneof(
  { weight: 8, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(' ', '\n', '\t', '\r\n  ') },
);

const stringPiece = fc.oneof(
  fc.constantFrom('a', 'name', ' ', '/', '\u007f', 'é', '中', '😀', '\u2028', '{', ']', ',', ':'),
  fc.constantFrom('\\"', '\\\\', '\\/', '\\n', '\\b', '\\u0000', '\\u00e9', '\\u00E9', '\\ud83d\\ude00', '\\ud800', '\\uFFFF'),
);

/** A raw string token, quotes included. */
export const stringToken: fc.Arbitrary<string> = fc.array(stringPiece, { maxLength: 8 }).map((pieces) => `"${pieces.join('')}"`);

/** Only a few names, so that they repeat; some have two spellings. */
const nameToken = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('"a"', '"\\u0061"', '"b"', '"é"', '"\\u00e9"', '"collection"', '"\\ud800"', '""') },
  { weight: 1, arbitrary: stringToken },
);

const numberToken = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1.0',
    '18446744073709551615',
    '9007199254740993',
    '1e400',
    '1E+2',
    '-0.10e-007',
    '123456789012345678901234567890',
  ),
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

function leafOf(text: string): JsonText {
  return { kind: 'leaf', text, members: [], items: [] };
}

const leafText = fc.oneof(stringToken, numberToken, fc.constantFrom('true', 'false', 'null')).map(leafOf);

const spaced = fc.tuple(space, space);

const jsonTexts = fc.letrec<{ value: JsonText; object: JsonText; array: JsonText }>((tie) => ({
  value: fc.oneof({ maxDepth: 5, withCrossShrink: true }, leafText, tie('object'), tie('array')),
  object: fc
    .array(fc.record({ token: nameToken, value: tie('value'), around: fc.tuple(spaced, spaced) }), { maxLength: 5 })
    .map((members) => ({
      kind: 'object' as const,
      text: `{${members.map(({ token, value, around: [[a, b], [c, d]] }) => a + token + b + ':' + c + value.text + d).join(',')}}`,
      members: members.map(({ token, value }) => ({ token, value })),
      items: [],
    })),
  array: fc.array(fc.record({ value: tie('value'), around: spaced }), { maxLength: 5 }).map((items) => ({
    kind: 'array' as const,
    text: `[${items.map(({ value, around: [a, b] }) => a + value.text + b).join(',')}]`,
    members: [],
    items: items.map(({ value }) => value),
  })),
}));

/** Any JSON value. */
export const jsonText: fc.Arbitrary<JsonText> = jsonTexts.value;
/** A JSON object. */
export const jsonObjectText: fc.Arbitrary<JsonText> = jsonTexts.object;

/** A text that is nearly JSON: some characters are removed, inserted or swapped. */
export const brokenJsonText: fc.Arbitrary<string> = fc
  .tuple(
    jsonText,
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 1 }), fc.constantFrom('', ...Array.from('{}[],:"\\u0123e+-.tfnl \n\u0001é'))), {
      maxLength: 3,
    }),
  )
  .map(([{ text }, edits]) => {
    let edited = text;
    for (const [at, removed, inserted] of edits) {
      const place = at % (edited.length + 1);
      edited = edited.slice(0, place) + inserted + edited.slice(place + removed);
    }
    return edited.toWellFormed();
  });

/** Sizes of the chunks of a text, from parts of tokens to almost the whole text. The last size repeats. */
export const chunkSizes: fc.Arbitrary<readonly number[]> = fc.array(
  fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 20, max: 2000 })),
  { minLength: 1, maxLength: 10 },
);

/** Cuts the bytes into chunks of these sizes. */
export function cut(bytes: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const chunks: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const size = sizes[Math.min(chunks.length, sizes.length - 1)] ?? 1;
    // A copy, so that nothing can depend on the bytes next to it.
    chunks.push(Buffer.from(bytes.subarray(from, from + size)));
    from += size;
  }
  return chunks;
}
