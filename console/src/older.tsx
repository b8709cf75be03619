import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Failure } from './parts/loading.tsx';
import { noticeEndOf } from './session.ts';

/** A page of a list of the gateway. */
export interface ListPage<Entry> {
  readonly list: readonly Entry[];
  readonly cursor?: string | undefined;
}

interface Older<Entry> {
  /** The first page, which may be asked for again, and those that a person asked for. */
  readonly list: readonly Entry[];
  /** The button for the next page, if there is one. */
  readonly button: (words: string) => JSX.Element;
}

/** Adds further pages to the first one of a list. An entry that has moved to a later page meanwhile shows once. */
export function useOlder<Entry extends { readonly id: string }>(
  first: ListPage<Entry>,
  ask: (cursor: string) => Promise<ListPage<Entry>>,
): Older<Entry> {
  const [older, setOlder] = useState<ListPage<Entry> | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const { cursor } = older ?? first;
  const more = async (from: string): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const page = await ask(from);
      setOlder((last) => ({ list: [...(last?.list ?? []), ...page.list], cursor: page.cursor }));
    } catch (failure) {
      noticeEndOf(failure);
      setError(failure);
    }
    setBusy(false);
  };
  const known = new Set(first.list.map(({ id }) => id));
  return {
    list: [...first.list, ...(older?.list ?? []).filter(({ id }) => !known.has(id))],
    button: (words) => (
      <>
        {error !== undefined && <Failure error={error} />}
        {cursor !== undefined && (
          <p>
            <button type="button" aria-disabled={isBusy} onClick={() => void (isBusy ? undefined : more(cursor))}>
              {words}
            </button>
          </p>
        )}
      </>
    ),
  };
}
