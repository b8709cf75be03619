import { type CallStep, durationText, type ReadCallStatisticsData, type RunStep } from '#client/gateway.ts';
import { givenOptions, listCommand } from '../../gateway-command.ts';

type Step = CallStep | RunStep;

export const statisticsList = listCommand<Step>({
  name: 'statistics',
  summary: 'count runs or calls by time, with how long they took',
  description: ['Count the runs that ended, or with --of calls the calls to orchestrators, in steps of time.'],
  options: {
    of: { value: 'WHAT', default: 'runs', meaning: 'runs or calls', values: ['runs', 'calls'] },
    since: { value: 'TIME', meaning: 'from this time on; without it 24 hours before --until' },
    until: { value: 'TIME', meaning: 'before this time; without it now' },
    step: { value: 'LENGTH', meaning: 'such as 15m, 1h (the usual one) or 1d' },
    timeZone: { value: 'ZONE', meaning: 'in which steps begin, such as Europe/Berlin; by default UTC' },
    adapter: { value: 'NAME', meaning: 'with --of calls: only calls to this adapter instance' },
  },
  what: 'steps',
  columns: [
    { title: 'FROM', cell: ({ at }) => at },
    { title: 'COUNTS', cell: ({ counts }) => countsText(counts) },
    { title: 'HALF', cell: ({ p50 }) => timeText(p50), dropped: 3 },
    { title: '95 %', cell: ({ p95 }) => timeText(p95), dropped: 1 },
    { title: 'LONGEST', cell: ({ max }) => timeText(max), dropped: 2 },
  ],
  async *rows({ gateway, given }) {
    const names = ['since', 'until', 'step', 'timeZone', 'adapter'] as const;
    const query = givenOptions<NonNullable<ReadCallStatisticsData['query']>>(given, names);
    const reply = given.option('of') === 'calls' ? gateway.readCallStatistics({ query }) : gateway.readRunStatistics({ query });
    yield* (await reply).value.list;
  },
});

function countsText(counts: Step['counts']): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
}

function timeText(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : durationText(milliseconds);
}
