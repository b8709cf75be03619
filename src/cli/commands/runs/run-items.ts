import type { BatchItem, Gateway, ListBatchItemsData } from '#client/gateway.ts';
import { givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { findRun, findTask, runOperand, runWords } from '../../lookups/run-lookup.ts';
import { errorText } from '../../texts/run-words.ts';

type ItemQuery = NonNullable<ListBatchItemsData['query']>;

export const runItems = listCommand<BatchItem>({
  name: 'runs items',
  summary: 'list the items of a batch of a run',
  description: ['List the items of a batch by their indices, and what became of each.', runWords],
  options: {
    task: { value: 'TASK', default: '', meaning: 'the task of the batch, where the run has several: its name or its id' },
    status: {
      value: 'STATUS',
      default: '',
      meaning: 'only items with this status: failed, unknown, notStarted, or that of a run',
    },
    search: { value: 'TEXT', default: '', meaning: 'only items with this text in the item, its output or its error' },
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
