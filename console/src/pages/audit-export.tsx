import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListAuditData } from '#client/gateway.ts';
import { Time } from '../parts/basics.tsx';
import { Failure } from '../parts/loading.tsx';
import { gateway } from '../session.ts';

type Query = NonNullable<ListAuditData['query']>;

const pageSize = 1_000;

/** What the file has so far. A browser may keep the parts of a file on its disk, so that they take no memory of the page. */
interface Saved {
  readonly parts: readonly Blob[];
  readonly count: number;
  /** Time of the oldest record. */
  readonly oldest: string | undefined;
  /** Where the next page begins; undefined after the last one. */
  readonly cursor: string | undefined;
}

type State = 'idle' | 'busy' | 'ended' | 'whole';

const nothing: Saved = { parts: [], count: 0, oldest: undefined, cursor: undefined };

/** Saves all records that fit the filters as a file, one JSON object a line. One that ends early says where, and goes on from there. */
export function AuditExport({ filters }: { readonly filters: Query }): JSX.Element {
  const [saved, setSaved] = useState(nothing);
  const [state, setState] = useState<State>('idle');
  const [error, setError] = useState<unknown>(undefined);
  const leave = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => leave.current?.abort(), []);
  const collect = async (from: Saved): Promise<void> => {
    const { signal } = (leave.current = new AbortController());
    let so = from;
    setState('busy');
    setError(undefined);
    try {
      do {
        so = await withNextPage(so, filters, signal);
        setSaved(so);
      } while (so.cursor !== undefined);
      saveFile(so);
      setState('whole');
    } catch (failure) {
      setState('ended');
      // The person may have ended it.
      if (!signal.aborted) setError(failure);
    }
  };
  const stop = (): void => leave.current?.abort();
  return (
    <div class="export">
      <div class="buttons">
        {state === 'busy' ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={() => void collect(nothing)}>
            Save these records as NDJSON
          </button>
        )}
        {state === 'ended' && <Rest of={saved} goOn={() => void collect(saved)} />}
        <span role="status">
          <Progress of={saved} state={state} />
        </span>
      </div>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}

function countOf({ count }: Saved): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'record' : 'records'}`;
}

/** What a person can do with an export that ended early. */
function Rest({ of, goOn }: { readonly of: Saved; readonly goOn: () => void }): JSX.Element {
  return (
    <>
      <button type="button" class="main" onClick={goOn}>
        Go on from there
      </button>
      {of.count > 0 && (
        <button type="button" onClick={() => saveFile(of)}>
          Save these {countOf(of)}
        </button>
      )}
    </>
  );
}

function Progress({ of, state }: { readonly of: Saved; readonly state: State }): JSX.Element | null {
  if (state === 'idle') return null;
  if (state === 'busy') return <>{countOf(of)} so far…</>;
  if (state === 'whole') return <>{countOf(of)} saved: all that fit.</>;
  return (
    <>
      <strong>It ended early, after {countOf(of)}.</strong> Nothing is saved yet.{' '}
      {of.oldest !== undefined && (
        <>
          Records before <Time at={of.oldest} exact /> are missing.
        </>
      )}
    </>
  );
}

async function withNextPage({ parts, count, oldest, cursor }: Saved, filters: Query, signal: AbortSignal): Promise<Saved> {
  const query = { ...filters, limit: pageSize, ...(cursor !== undefined && { cursor }) };
  const { list, cursor: next } = (await gateway.listAudit({ query, signal })).value;
  const lines = new Blob(list.map((record) => `${JSON.stringify(record)}\n`));
  return { parts: [...parts, lines], count: count + list.length, oldest: list.at(-1)?.time ?? oldest, cursor: next };
}

function saveFile({ parts }: Saved): void {
  const href = URL.createObjectURL(new Blob([...parts], { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = href;
  link.download = 'audit.ndjson';
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
