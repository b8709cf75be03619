export type SqliteValue = string | number | bigint | null | Uint8Array;

/**
 * Values for a message to another thread, all blobs in one buffer. Every buffer of a message costs some microseconds, and an import sends a
 * dozen blobs a document.
 */
export interface PackedValues {
  /** Undefined: the next blob. */
  readonly values: readonly (Exclude<SqliteValue, Uint8Array> | undefined)[];
  /** The lengths of the blobs, in bytes. */
  readonly lengths: readonly number[];
  readonly bytes: Uint8Array;
}

export function pack(values: readonly SqliteValue[]): PackedValues {
  const blobs = values.filter((value) => value instanceof Uint8Array);
  return {
    values: values.map((value) => (value instanceof Uint8Array ? undefined : value)),
    lengths: blobs.map(({ length }) => length),
    // A buffer of its own: with a view of Node's pool the message would copy the whole pool.
    bytes: new Uint8Array(Buffer.concat(blobs)),
  };
}

export function unpack({ values, lengths, bytes }: PackedValues): readonly SqliteValue[] {
  let [blob, start] = [0, 0];
  return values.map((value) => {
    if (value !== undefined) return value;
    const end = start + (lengths[blob] ?? 0);
    const view = bytes.subarray(start, end);
    blob += 1;
    start = end;
    return view;
  });
}

/** Rows of equal width for a message to another thread. Each value of a message costs time; one long text for all rows is cheap. */
export interface PackedRows {
  readonly width: number;
  /** The texts of all rows, concatenated. */
  readonly texts: string;
  /** A number itself, the length of a text, or NaN for null. */
  readonly figures: Float64Array;
  /** 1 where the value is a text. */
  readonly areTexts: Uint8Array;
}

/** Throws TypeError for anything but texts, numbers that are not NaN, and null. */
export function packRows(rows: readonly (readonly unknown[])[]): PackedRows {
  const width = rows[0]?.length ?? 0;
  let texts = '';
  const figures = new Float64Array(rows.length * width);
  const areTexts = new Uint8Array(figures.length);
  let at = 0;
  for (const row of rows) {
    if (row.length !== width) throw new TypeError('The rows of a statement are of equal width.');
    for (const value of row) {
      if (typeof value === 'string') {
        texts += value;
        areTexts[at] = 1;
        figures[at] = value.length;
      } else if (value === null) figures[at] = Number.NaN;
      else if (typeof value === 'number' && !Number.isNaN(value)) figures[at] = value;
      else throw new TypeError(`A ${typeof value} is no value of a row.`);
      at += 1;
    }
  }
  return { width, texts, figures, areTexts };
}

/** Lists of the values of several rows. The number of rows is the first of `counts` for which enough are left, else one. */
export function* unpackRows(rows: PackedRows, counts: readonly number[]): Generator<readonly SqliteValue[]> {
  const { width, texts, figures, areTexts } = rows;
  let [at, start] = [0, 0];
  while (at < figures.length) {
    const left = (figures.length - at) / width;
    const end = at + (counts.find((count) => count <= left) ?? 1) * width;
    const list: SqliteValue[] = [];
    for (; at < end; at += 1) {
      const figure = figures[at] ?? 0;
      if (areTexts[at] === 1) {
        list.push(texts.slice(start, start + figure));
        start += figure;
      } else list.push(Number.isNaN(figure) ? null : figure);
    }
    yield list;
  }
}
