import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Chart } from '../parts/chart.tsx';
import { Loading } from '../parts/loading.tsx';
import { gateway } from '../session.ts';
import { rangeOf, stepOf } from '../time-range.ts';

/** Milliseconds between two questions: statistics send no event. */
const quietly = 15_000;

const outcomes = ['completed', 'faulted', 'cancelled'] as const;

/** How the runs of the range ended, over time. Each bar leads to its runs. */
export function OutcomeChart(): JSX.Element {
  const { query } = place.value;
  const { since, until } = rangeOf(query, '24h');
  const step = stepOf({ title: '', ...(since && { since }), ...(until && { until }) });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const loaded = useLoad(
    async (signal) => {
      const asked = { step, timeZone, ...(since && { since }), ...(until && { until }) };
      return (await gateway.readRunStatistics({ query: asked, signal })).value.list;
    },
    [since ?? '', until ?? '', step],
  );
  const { again } = loaded;
  useEffect(() => {
    const timer = setInterval(again, quietly);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <Loading of={loaded}>
      {(list) => (
        <Chart
          label="Runs by outcome"
          series={[
            ['completed', 'good'],
            ['faulted', 'bad'],
            ['cancelled', 'calm'],
          ]}
          steps={list.map(({ at, counts }, index) => {
            const next = list[index + 1]?.at ?? until;
            const times = { since: new Date(at).toISOString(), ...(next && { until: new Date(next).toISOString() }) };
            return { at, counts: outcomes.map((outcome) => counts[outcome] ?? 0), href: hrefOf(['runs'], times) };
          })}
        />
      )}
    </Loading>
  );
}
