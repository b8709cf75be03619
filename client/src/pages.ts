import type { AnyCallOptions, Operation, Page } from './call.ts';

/** The entries of all pages, from the page that `given` names. Each page is asked for when its first entry is. */
export async function* eachOf(
  { pages }: Operation,
  given: AnyCallOptions,
  ask: (given: AnyCallOptions) => Promise<Page>,
): AsyncGenerator<unknown, void, undefined> {
  let query = given.query ?? {};
  for (;;) {
    const { list, cursor, total = 0 } = await ask({ ...given, query });
    yield* list;
    if (pages === 'cursor') {
      if (cursor === undefined) return;
      query = { ...query, cursor };
    } else {
      const skip = Number(query['skip'] ?? 0) + list.length;
      if (list.length === 0 || skip >= total) return;
      query = { ...query, skip };
    }
  }
}
