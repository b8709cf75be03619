import {
  type BatchItem,
  durationText,
  type Gateway,
  type ListBatchItemsData,
  type ListedRun,
  type ListRunsData,
} from '#client/gateway.ts';
import { givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { findAutomation, findRun, findTask, runOperand, runWords } from '../../name-lookup.ts';
import { between, errorText } from '../../texts/run-words.ts';
import { shortTime } from '../../texts/text-table.ts';

const filters = ['workflow', 'status', 'principal', 'since', 'until', 'parent'] as const;

export const runList = listCommand<ListedRun>({
  name: 'runs list',
  summary: 'list the runs of automations',
  description: ['List runs, the newest first, with every field but input and output.'],
  options: {
    automation: { value: 'NAME', meaning: 'only runs of this automation: its name or its _id' },
    workflow: { value: 'ID', meaning: 'only runs of this workflow, such as lab.sync' },
    status: { value: 'STATUS', meaning: 'only runs with this status, such as suspended' },
    principal: { value: 'NAME', meaning: 'only runs that belong to the principal with this name' },
    since: { value: 'TIME', meaning: 'only runs of this time or later, such as 2026-11-21T08:00:00Z' },
    until: { value: 'TIME', meaning: 'only runs before this time' },
    parent: { value: 'RUN', meaning: 'only runs that the run with this id began, those of its batches included' },
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

type ItemQuery = NonNullable<ListBatchItemsData['query']>;

export const runItems = listCommand<BatchItem>({
  name: 'runs items',
  summary: 'list the items of a batch of a run',
  description: ['List the items of a batch by their indices, and what became of each.', runWords],
  options: {
    task: { value: 'TASK', meaning: 'the task of the batch, where the run has several: its name or its id' },
    status: {
      value: 'STATUS',
      meaning: 'only items with this status: failed, unknown, notStarted, or that of a run',
    },
    search: { value: 'TEXT', meaning: 'only items with this text in the item, its output or its error' },
    limit: { ...limitOption, meaning: 'only the first N, or "all"' },
  },
  operands: [runOperand],
  what: 'items',
  columns: [
    { title: 'INDEX', cell: ({ index }) => String(index) },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'ITEM', cell: ({ item }) => jsonText(item) },
    { title: 'RUN', cell: ({ run }) => run, dropped: 1 },
    { title: 'ERROR', cell: ({ error }) => (error === undefined ? undefined : faultText(error)), dropped: 2 },
  ],
  async *rows({ gateway, given }) {
    const id = await findRun(gateway, given.operand(runOperand));
    const taskId = await findBatch(gateway, id, given.option('task'));
    const query = givenOptions<ItemQuery>(given, ['status', 'search']);
    // People say failed where the run of an item is faulted.
    const asked = given.option('status') === 'failed' ? ({ ...query, status: 'faulted' } as const) : query;
    yield* gateway.each.listBatchItems({ path: { id, taskId }, query: { ...asked, limit: pageSize(given) } });
  },
});

/** The id of the task of a batch. Without its name: of the only one. */
async function findBatch(gateway: Gateway, run: string, wanted: string): Promise<string> {
  if (wanted !== '') return (await findTask(gateway, { run, wanted, isWanted: () => true })).id;
  const tasks = await Array.fromAsync(gateway.each.listRunTasks({ path: { id: run }, query: { limit: 1000 } }));
  const batches = tasks.filter(({ items }) => items !== undefined);
  const [only, ...others] = batches;
  if (only === undefined) throw new CommandFailed('the run has no batch that has begun');
  if (others.length > 0)
    throw new CommandFailed(
      `the run has several batches: name one of them with --task (${batches.map(({ id }) => id).join(', ')})`,
    );
  return only.id;
}

function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** An error of a run, or the beginning of its JSON text. */
function faultText(error: unknown): string {
  return typeof error === 'object' && error !== null && 'type' in error && 'status' in error
    ? errorText({ instance: '', ...error, type: String(error.type), status: Number(error.status) })
    : jsonText(error);
}
