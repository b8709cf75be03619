import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import type { ListedRun, ListRunsData } from '#client/gateway.ts';
import { place } from '../address.ts';
import { useLive } from '../live.ts';
import { type Loaded, useLoad } from '../load.ts';
import { Empty } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Days, Filters } from '../parts/filters.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { gateway } from '../session.ts';
import { RunTable } from './run-table.tsx';

type Query = NonNullable<ListRunsData['query']>;

const states = ['pending', 'running', 'waiting', 'suspended', 'cancelled', 'faulted', 'completed'] as const;
const pageSize = 100;

/** All runs that the caller may see, by the filters of the address. */
export function Runs(): JSX.Element {
  const filters = Object.fromEntries(place.value.query) as Query;
  const first = useLoad(
    async (signal) => (await gateway.listRuns({ query: { ...filters, limit: pageSize }, signal })).value,
    [place.value.query.toString()],
  );
  const liveness = useLive({ every: 2_000 }, first.again);
  return (
    <>
      <RunFilters filters={filters} />
      <Days from="since" to="until" />
      <LiveSign of={liveness} />
      <Loading of={first}>
        {(page) => <RunPages key={place.value.query.toString()} first={page} filters={filters} loaded={first} />}
      </Loading>
    </>
  );
}

interface RunPagesProps {
  readonly first: { readonly list: readonly ListedRun[]; readonly cursor?: string };
  readonly filters: Query;
  readonly loaded: Loaded<unknown>;
}

function RunPages({ first, filters }: RunPagesProps): JSX.Element {
  const [older, setOlder] = useState<{ readonly list: readonly ListedRun[]; readonly cursor?: string | undefined }>();
  const [error, setError] = useState<unknown>(undefined);
  const cursor = older === undefined ? first.cursor : older.cursor;
  const more = useCallback(() => {
    if (cursor === undefined) return;
    gateway
      .listRuns({ query: { ...filters, limit: pageSize, cursor } })
      .then(
        ({ value }) => setOlder((last) => ({ list: [...(last?.list ?? []), ...value.list], cursor: value.cursor })),
        setError,
      );
  }, [cursor]);
  const known = new Set(first.list.map(({ id }) => id));
  const runs = [...first.list, ...(older?.list ?? []).filter(({ id }) => !known.has(id))];
  if (runs.length === 0) return <Empty>No runs. An automation that runs, or whose filter fits, shows here.</Empty>;
  return (
    <>
      <RunTable runs={runs} label="Runs" />
      {error !== undefined && <Failure error={error} />}
      {cursor !== undefined && (
        <p>
          <button type="button" onClick={more}>
            Show older runs
          </button>
        </p>
      )}
    </>
  );
}

function RunFilters({ filters }: { readonly filters: Query }): JSX.Element {
  return (
    <Filters label="Filter the runs">
      <Select
        label="State"
        name="status"
        value={filters.status ?? ''}
        options={[['', 'any'], ...states.map((state) => [state, state] as const)]}
      />
      <Input label="Workflow" name="workflow" value={filters.workflow ?? ''} placeholder="namespace.name" />
      <Input label="Automation (_id)" name="automation" value={filters.automation ?? ''} />
      <Input label="Started by" name="principal" value={filters.principal ?? ''} />
      <Input label="Since" name="since" value={filters.since ?? ''} placeholder="2026-03-01T22:00:00Z" />
      <Input label="Until" name="until" value={filters.until ?? ''} placeholder="2026-03-02T22:00:00Z" />
    </Filters>
  );
}
