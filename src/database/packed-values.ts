export type SqliteValue = string | number | bigint | null | Uint8Array;

/**
 * Values on their way to another thread, their blobs side by side in one buffer: every buffer of a message costs some microseconds
 * of its own, and an import sends a dozen a document.
 */
export interface PackedValues {
  /** Undefined stands for the next blob. */
  readonly values: readonly (Exclude<SqliteValue, Uint8Array> | undefined)[];
  /** Of the blobs, in bytes. */
  readonly lengths: readonly number[];
  readonly bytes: Uint8Array;
}

export function pack(values: readonly SqliteValue[]): PackedValues {
  const blobs = values.filter((value) => value instanceof Uint8Array);
  return {
    values: values.map((value) => (value instanceof Uint8Array ? undefined : value)),
    lengths: blobs.map(({ length }) => length),
    // A buffer of its own: a view on Node's pool would drag the whole pool along.
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
