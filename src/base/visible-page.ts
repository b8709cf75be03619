/** A page of a list of which its reader may not see all. */
export interface VisiblePage<Entry, Place> {
  readonly list: readonly Entry[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: Place | undefined;
}

interface Reading<Entry, Place> {
  readonly limit: number;
  readonly after: Place | undefined;
  /** So many entries after the place. */
  readonly read: (limit: number, after: Place | undefined) => Promise<readonly Entry[]>;
  readonly sees: (entry: Entry) => boolean | Promise<boolean>;
  readonly placeOf: (entry: Entry) => Place;
}

/** Entries that one listing reads at most, as a multiple of its limit. */
const mostPagesRead = 10;

/** Leaves out what the reader may not see, and reads more for it, up to a limit. So a page may be short, and still have a `next`. */
export async function visiblePage<Entry, Place>(reading: Reading<Entry, Place>): Promise<VisiblePage<Entry, Place>> {
  const { limit, after, read, sees, placeOf } = reading;
  const list: Entry[] = [];
  let next = after;
  for (let pages = 0; pages < mostPagesRead && list.length < limit; pages += 1) {
    const entries = await read(limit + 1, next);
    for (const entry of entries.slice(0, limit)) {
      if (list.length === limit) return { list, next };
      if (await sees(entry)) list.push(entry);
      next = placeOf(entry);
    }
    if (entries.length <= limit) return { list, next: undefined };
  }
  return { list, next };
}
