import type { JSX } from 'preact';
import { type Adapter, type CallStep, durationText, type RunStep } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Panel, Table } from '../parts/basics.tsx';
import { Chart } from '../parts/chart.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';
import { rangeOf, stepOf } from '../time-range.ts';

const byDefault = '24h';
const took = { title: 'p95', text: durationText };
const runSeries = [
  ['completed', 'good'],
  ['faulted', 'bad'],
  ['cancelled', 'calm'],
] as const;
const callSeries = [
  ['ok', 'good'],
  ['failed', 'bad'],
  ['unknown', 'warn'],
  ['refused', 'calm'],
] as const;

/** What statistics are asked for: the range of the page, in steps of the reader's time zone. */
function statisticsQuery() {
  const range = rangeOf(place.value.query, byDefault);
  const { title: _title, ...times } = range;
  return { ...times, step: stepOf(range), timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}

/** Runs that ended, by their outcome. `round` changes where they are to be asked for again. */
export function RunPicture({ round }: { readonly round: number }): JSX.Element {
  const loaded = useLoad(
    async (signal) => (await gateway.readRunStatistics({ query: statisticsQuery(), signal })).value.list,
    [place.value.query.toString()],
    round,
  );
  return (
    <Panel title="Runs by outcome" aside={<a href={hrefOf(['runs'], rangeParameters())}>All runs</a>}>
      <Loading of={loaded}>
        {(list) => (
          <Chart
            label="Runs that ended, by outcome"
            series={runSeries}
            line={took}
            steps={list.map((step, at) => ({
              at: step.at,
              counts: runSeries.map(([status]) => step.counts[status] ?? 0),
              level: step.p95,
              href: hrefOf(['runs'], stepTimes(list, at)),
            }))}
          />
        )}
      </Loading>
    </Panel>
  );
}

/** The range that a step covers. Runs are listed by their begin, and counted by their end. */
function stepTimes(list: readonly RunStep[], at: number): { readonly since: string; readonly until: string } {
  const begin = new Date(list[at]?.at ?? '').toISOString();
  const next = list[at + 1]?.at;
  return { since: begin, until: next === undefined ? '' : new Date(next).toISOString() };
}

function rangeParameters(): Readonly<Record<string, string>> {
  const { query } = place.value;
  return { range: query.get('range') ?? byDefault, since: query.get('since') ?? '', until: query.get('until') ?? '' };
}

interface CallPictureProps {
  readonly round: number;
  /** Calls to this adapter alone. */
  readonly adapter?: string;
}

/** Calls that ended, by their outcome, with how long they took. */
export function CallPicture({ round, adapter }: CallPictureProps): JSX.Element {
  const loaded = useLoad(
    async (signal) => await callStatistics(adapter, signal),
    [place.value.query.toString(), adapter ?? ''],
    round,
  );
  const records = hrefOf(['audit'], { ...rangeParameters(), adapter: adapter ?? '' });
  return (
    <Panel
      title={adapter === undefined ? 'Calls by outcome' : 'Calls'}
      aside={may('listAudit') && <a href={records}>All records</a>}
    >
      <Loading of={loaded}>
        {(list) => <Chart label="Calls that ended, by outcome" series={callSeries} line={took} steps={callSteps(list)} />}
      </Loading>
    </Panel>
  );
}

async function callStatistics(adapter: string | undefined, signal: AbortSignal): Promise<readonly CallStep[]> {
  const query = { ...statisticsQuery(), ...(adapter === undefined ? {} : { adapter }) };
  return (await gateway.readCallStatistics({ query, signal })).value.list;
}

/** Adapters that have a row. */
const mostAdapters = 20;

/** The same numbers for each adapter, next to its state. */
export function AdapterPicture({
  adapters,
  round,
}: {
  readonly adapters: readonly Adapter[];
  readonly round: number;
}): JSX.Element {
  const names = adapters.slice(0, mostAdapters).map(({ name }) => name);
  const loaded = useLoad(
    async (signal) => await Promise.all(names.map(async (name) => ({ name, steps: await callStatistics(name, signal) }))),
    [place.value.query.toString(), names.join('\n')],
    round,
  );
  return (
    <Panel title="Calls by adapter" aside={<a href={hrefOf(['adapters'])}>All adapters</a>}>
      <Loading of={loaded}>{(each) => <AdapterRows adapters={adapters} each={each} />}</Loading>
    </Panel>
  );
}

function callSteps(list: readonly CallStep[]) {
  return list.map((step) => ({
    at: step.at,
    counts: callSeries.map(([outcome]) => step.counts[outcome] ?? 0),
    level: step.p95,
  }));
}

interface AdapterRowsProps {
  readonly adapters: readonly Adapter[];
  readonly each: readonly { readonly name: string; readonly steps: readonly CallStep[] }[];
}

function AdapterRows({ adapters, each }: AdapterRowsProps): JSX.Element {
  return (
    <Table label="Calls by adapter" columns={['Adapter', 'State', 'Calls', 'Not ok', 'Highest p95', 'Over time']} extra={[5, 6]}>
      {each.map(({ name, steps }) => {
        const counts = steps.map((step) => Object.values(step.counts).reduce((sum, one) => sum + one, 0));
        const fine = steps.reduce((sum, step) => sum + (step.counts.ok ?? 0), 0);
        const total = counts.reduce((sum, one) => sum + one, 0);
        const slowest = Math.max(0, ...steps.map(({ p95 = 0 }) => p95));
        return (
          <tr key={name}>
            <td>
              <a href={hrefOf(['adapters', name])}>{seenText(name)}</a>
            </td>
            <td>
              <Status of={adapters.find((adapter) => adapter.name === name)?.state ?? 'unknown'} />
            </td>
            <td class="fixed">{total}</td>
            <td class={total === fine ? 'fixed' : 'fixed bad'}>{total - fine}</td>
            <td class="fixed">{slowest === 0 ? '–' : durationText(slowest)}</td>
            <td>
              <Spark of={counts} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Bars without a scale, next to the numbers that they draw. */
function Spark({ of }: { readonly of: readonly number[] }): JSX.Element {
  const most = Math.max(1, ...of);
  return (
    <svg class="chart spark" viewBox={`0 0 ${Math.max(1, of.length)} 20`} preserveAspectRatio="none" aria-hidden="true">
      {of.map((count, at) => {
        const height = (count / most) * 20;
        return <rect key={`${at}`} class="busy" x={at + 0.15} y={20 - height} width={0.7} height={height} />;
      })}
    </svg>
  );
}
