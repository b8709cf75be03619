import { durationText, type ListedRun, type ListRunsData } from '#client/gateway.ts';
import { givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { shortTime } from '../../texts/facts.ts';
import { between } from '../../texts/run-words.ts';

const filters = ['workflow', 'status', 'principal', 'since', 'until', 'parent'] as const;

export const runList = listCommand<ListedRun>({
  name: 'runs list',
  summary: 'list the runs of automations',
  description: ['List runs, the newest first, with every field but input and output.'],
  options: {
    automation: { value: 'NAME', default: '', meaning: 'only runs of this automation: its name or its _id' },
    workflow: { value: 'ID', default: '', meaning: 'only runs of this workflow, such as lab.sync' },
    status: { value: 'STATUS', default: '', meaning: 'only runs with this status, such as suspended' },
    principal: { value: 'NAME', default: '', meaning: 'only runs that belong to the principal with this name' },
    since: { value: 'TIME', default: '', meaning: 'only runs of this time or later, such as 2026-11-21T08:00:00Z' },
    until: { value: 'TIME', default: '', meaning: 'only runs before this time' },
    parent: { value: 'RUN', default: '', meaning: 'only runs that the run with this id began, those of its batches included' },
    limit: limitOption,
  },
  what: 'runs',
  columns: [
    { title: 'RUN', cell: ({ id }) => id },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'CREATED', cell: ({ createdAt }) => shortTime(createdAt), dropped: 1 },
    { title: 'TOOK', cell: (run) => tookText(run), dropped: 3 },
    { title: 'STARTED BY', cell: ({ startedBy }) => startedBy.principal ?? startedBy.schedule, dropped: 4 },
    { title: 'WORKFLOW', cell: ({ workflow, version }) => `${workflow} ${version}`, dropped: 2 },
  ],
  async *rows({ gateway, given }) {
    const name = given.option('automation');
    const automation = name === '' ? {} : { automation: (await findAutomation(gateway, name))._id };
    const query = givenOptions<NonNullable<ListRunsData['query']>>(given, filters);
    yield* gateway.each.listRuns({ query: { ...query, ...automation, limit: pageSize(given) } });
  },
});

function tookText({ startedAt, endedAt }: ListedRun): string | undefined {
  const took = between(startedAt, endedAt);
  return took === undefined ? undefined : durationText(took);
}
