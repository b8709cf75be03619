/** Bytes of the rows of a page of any list: 4 MiB, less what surrounds a thousand rows. One row alone may have more. */
export const pageBytes = 4 * 1024 ** 2 - 4_096;

/** How many of the rows, from the first on, fit into one page: at least one. */
export function fitting(sizes: Iterable<number>): number {
  let [count, bytes] = [0, 0];
  for (const size of sizes) {
    bytes += size;
    if (count > 0 && bytes > pageBytes) return count;
    count += 1;
  }
  return count;
}

/** A page of a list of which its reader may not see all. */
export interface VisiblePage<Entry, Place> {
  readonly list: readonly Entry[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: Place | undefined;
  /** The page is shorter than its limit because of its bytes. */
  readonly isCut?: boolean;
}

interface Reading<Entry, Place> {
  readonly limit: number;
  readonly after?: Place | undefined;
  /** So many entries after the place. */
  readonly read: (limit: number, after: Place | undefined) => Promise<readonly Entry[]>;
  readonly sees: (entry: Entry) => boolean | Promise<boolean>;
  readonly placeOf: (entry: Entry) => Place;
  /** Bytes of the entry in the reply, roughly. */
  readonly sizeOf: (entry: Entry) => number;
  /** Entries of one reading: so few that they fit into memory although each is as long as it can be. Default: 100. */
  readonly atOnce?: number;
}

/** Entries that one listing reads at most, as a multiple of its limit. */
const maxPagesRead = 10;

/**
 * Leaves out what the reader may not see, and reads more for it, up to a limit. So a page may be short, and still have a `next`. It also ends
 * before its entries have more than `pageBytes`.
 */
export async function visiblePage<Entry, Place>(reading: Reading<Entry, Place>): Promise<VisiblePage<Entry, Place>> {
  const { limit, after, read, sees, placeOf, sizeOf, atOnce = 100 } = reading;
  const list: Entry[] = [];
  let [next, bytes] = [after, 0];
  for (let examined = 0; examined < maxPagesRead * limit && list.length < limit; ) {
    const wanted = Math.min(limit, atOnce);
    const entries = await read(wanted + 1, next);
    for (const entry of entries.slice(0, wanted)) {
      if (list.length === limit) return { list, next };
      if (await sees(entry)) {
        bytes += sizeOf(entry);
        if (list.length > 0 && bytes > pageBytes) return { list, next, isCut: true };
        list.push(entry);
      }
      next = placeOf(entry);
    }
    if (entries.length <= wanted) return { list, next: undefined };
    examined += wanted;
  }
  return { list, next };
}
