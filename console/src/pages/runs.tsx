import type { JSX } from 'preact';
import type { ListedRun, ListRunsData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { type ListPage, useOlder } from '../older.tsx';
import { Empty } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { TimeRangePicker } from '../parts/time-range.tsx';
import { gateway, may } from '../session.ts';
import { rangeOf } from '../time-range.ts';
import { OutcomeChart } from './outcome-chart.tsx';
import { RunTable } from './run-table.tsx';
import { UndecidedCalls } from './undecided.tsx';

type Query = NonNullable<ListRunsData['query']>;

const states = ['pending', 'running', 'waiting', 'suspended', 'cancelled', 'faulted', 'completed'] as const;
const pageSize = 100;

/** The runs, or what people have to decide about them. */
export function Runs(): JSX.Element {
  return place.value.query.get('view') === 'undecided' ? <UndecidedCalls /> : <RunList />;
}

const filterNames = ['status', 'workflow', 'automation', 'principal', 'parent', 'children'] as const;

/** All runs that the caller may see, by the filters and the range of the address. */
function RunList(): JSX.Element {
  const { query } = place.value;
  const { since, until } = rangeOf(query);
  const given = filterNames.flatMap((name) => (query.get(name) ? [[name, query.get(name)] as const] : []));
  const filters: Query = { ...Object.fromEntries(given), ...(since && { since }), ...(until && { until }) };
  const key = query.toString();
  const first = useLoad(
    async (signal) => (await gateway.listRuns({ query: { ...filters, limit: pageSize }, signal })).value,
    [key],
  );
  const liveness = useLive({ every: 2_000 }, first.again);
  return (
    <>
      <div class="above-list">
        <TimeRangePicker />
        {may('decideRun') && (
          <a class="button" href={hrefOf(['runs'], { view: 'undecided' })}>
            Decide about calls with an unknown outcome
          </a>
        )}
      </div>
      <RunFilters filters={filters} />
      {given.every(([name]) => name === 'status') && <OutcomeChart />}
      <LiveSign of={liveness} />
      <Loading of={first}>{(page) => <RunPages key={key} first={page} filters={filters} />}</Loading>
    </>
  );
}

interface RunPagesProps {
  readonly first: ListPage<ListedRun>;
  readonly filters: Query;
}

function RunPages({ first, filters }: RunPagesProps): JSX.Element {
  const { list, button } = useOlder(first, async (cursor) => {
    return (await gateway.listRuns({ query: { ...filters, limit: pageSize, cursor } })).value;
  });
  if (list.length === 0) return <Empty>No runs. An automation that runs, or whose filter fits, shows here.</Empty>;
  return (
    <>
      <RunTable runs={list} label="Runs" />
      {button('Show older runs')}
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
      <Input label="Automation" name="automation" value={filters.automation ?? ''} placeholder="name or id" />
      <Input label="Started by" name="principal" value={filters.principal ?? ''} />
    </Filters>
  );
}
