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

const nothing: Saved = { parts: [], count: 0, oldest: undefined, cursor: undefined };

/** Saves all records that fit the filters as a file, one JSON object a line. One that ends early says where, and goes on from there. */
export function AuditExport({ filters }: { readonly filters: Query }): JSX.Element {
  const [saved, setSaved] = useState(nothing);
  const [state, setState] = useState<'idle' | 'busy' | 'ended' | 'whole'>('idle');
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
  const count = `${saved.count.toLocaleString('en')} ${saved.count === 1 ? 'record' : 'records'}`;
  return (
    <div class="export">
      <div class="buttons">
        {state === 'busy' ? (
          <button type="button" onClick={() => leave.current?.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={() => void collect(nothing)}>
            Save these records as NDJSON
          </button>
        )}
        {state === 'ended' && (
          <>
            <button type="button" class="main" onClick={() => void collect(saved)}>
              Go on from there
            </button>
            {saved.count > 0 && (
              <button type="button" onClick={() => saveFile(saved)}>
                Save these {count}
              </button>
            )}
          </>
        )}
        <span role="status">
          {state === 'busy' && `${count} so far…`}
          {state === 'whole' && `${count} saved: all that fit.`}
          {state === 'ended' && (
            <>
              <strong>It ended early, after {count}.</strong> Nothing is saved yet.{' '}
              {saved.oldest !== undefined && (
                <>
                  Records before <Time at={saved.oldest} exact /> are missing.
                </>
              )}
            </>
          )}
        </span>
      </div>
      {error !== undefined && <Failure error={error} />}
    </div>
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
