import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { choiceParameter, nameParameter } from '#base/text/query-parameters.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import type { Call } from '#calls/call.ts';
import type { ItemSums } from '../journal/batches/batch-records.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import { type StoredTask, type TaskParts, type TaskRecord, taskStatuses } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import { createMask } from '../secrets/mask.ts';
import { filledPasswordsOf } from '../task-data/data-mask.ts';
import { readPart } from '../task-data/task-data.ts';
import { evaluateArgument, orchestratorArguments, readArguments } from '../tasks/arguments.ts';
import { createItemReading } from './batch-items.ts';
import { callsOfRun } from './run-calls.ts';
import type { RunFinder } from './run-finder.ts';
import type { RunCatalogueNeeds, RunRequest } from './run-requests.ts';
import { undecidedOf } from './run-steering.ts';

interface TaskRequest extends RunRequest {
  readonly taskId: string;
}

interface TaskFilter {
  readonly status?: TaskRecord['status'] | undefined;
  readonly reference?: string | undefined;
  /** In the name, the label or the error; upper and lower case are the same. */
  readonly search?: string | undefined;
}

/** `items`: of the batch that it began. */
export type SeenTask = StoredTask & { readonly items?: ItemSums | undefined };

/** JSON texts. `truncated`: the parts that are cut. `noData`: why nothing, or not all, is kept. */
interface ShownTaskData extends TaskParts {
  readonly truncated?: readonly (keyof TaskParts)[];
  readonly noData?: StoredTask['noData'] | 'removed' | undefined;
}

/** A call about which people are to decide, as a preview needs it. */
interface UndecidedTaskCall {
  /** `none`: why it has no preview. */
  readonly call: Call | { readonly none: string };
  /** In whose name it would be made. */
  readonly principal: Principal;
  /** Empty where one of those who answer for it is gone. */
  readonly answerable: readonly Principal[];
  readonly owner: StoredRunSummary['owner'];
  readonly via: { readonly run: string; readonly task: string; readonly id: string };
  /** Undefined where its commit has no label of the gateway. */
  readonly commit: { readonly adapter: string; readonly label: string } | undefined;
}

export const taskFilterQuery = {
  status: choiceParameter(taskStatuses, 'Only tasks with this status.'),
  reference: nameParameter('Only tasks at this place of the document.', 'a JSON pointer into the document'),
  search: nameParameter('Only tasks with this text in their name, label or error; upper and lower case are the same.'),
};

export function createTaskReading(needs: RunCatalogueNeeds, finder: RunFinder) {
  const { store, rights } = needs;
  const taskOf = async (run: string, id: string): Promise<StoredTask> => {
    const activity = /^[1-9]\d{0,8}$/u.test(id) ? Number(id) : 0;
    const [task] = activity === 0 ? [] : await store.tasks(run, { limit: 1, after: activity - 1 });
    if (task?.activity !== activity) throw taskNotFound();
    return task;
  };
  const mayReadData = async (principal: Principal, { principal: starter, authors = [], workflow }: StoredRunSummary) =>
    principal.roles.includes('admin') ||
    [starter, ...authors].some(({ id }) => id === principal.id) ||
    rights.covers(principal, 'readTaskData', workflow) ||
    (await needs.whyNotWriter(principal, workflow)) === undefined;
  return {
    ...createItemReading(needs, { finder, task: taskOf }),
    /** `after`: the number of a task. A page may have fewer tasks than its limit, and still a `next`. */
    async tasks({
      limit,
      after,
      filter,
      ...request
    }: RunRequest & {
      readonly limit: number;
      readonly after?: number | undefined;
      readonly filter: TaskFilter;
    }): Promise<VisiblePage<SeenTask, number>> {
      const { run } = await finder.visible(request, 'listRunTasks');
      const page = await taskPage(store, run.id, { limit, after, filter });
      return { ...page, list: await withItems(store, run.id, page.list) };
    },
    /** Rejects with `task-not-found` where the run has no such task, or has not stored it. */
    async task({ taskId, ...request }: TaskRequest): Promise<SeenTask> {
      const { run } = await finder.visible(request, 'readTask', 'listRunTasks');
      const task = await taskOf(run.id, taskId);
      const [seen = task] = await withItems(store, run.id, [task]);
      return seen;
    },
    /** For who started the run, its authors, who may write its workflow, and a right to it; otherwise `forbidden`. */
    async taskData({ taskId, ...request }: TaskRequest): Promise<ShownTaskData> {
      const { run } = await finder.visible(request, 'readTaskData', 'readRun');
      if (!(await mayReadData(request.principal, run))) throw notYourData();
      const task = await taskOf(run.id, taskId);
      return shownData(task, await store.taskParts(run.id, task.activity));
    },
    /** For who may decide about it. Rejects with `run-conflict` where the outcome of the task's call is not unknown. */
    async undecidedCall({ taskId, ...request }: TaskRequest): Promise<UndecidedTaskCall> {
      const { run } = await finder.changeable(request, 'decideRun');
      const task = await taskOf(run.id, taskId);
      const undecided = (await undecidedOf(needs, run)).find(({ activity }) => activity === task.activity);
      if (undecided === undefined)
        throw new GatewayError('run-conflict', 'The outcome of this task is not unknown, or was decided already.');
      const standing = await needs.people.standing(run);
      return {
        call: await callAgain(undecided.call, run, needs),
        principal: run.principal,
        answerable: 'by' in standing ? [] : standing.answerable,
        owner: run.owner,
        via: { run: run.id, task: task.reference, id: String(task.activity) },
        commit: await commitOf(run, task, needs),
      };
    },
  };
}

/** Of the last call of the task whose outcome is not known. */
async function commitOf(
  run: StoredRunSummary,
  { activity: task }: StoredTask,
  needs: RunCatalogueNeeds,
): Promise<UndecidedTaskCall['commit']> {
  const { list } = await callsOfRun(run, { task, limit: 100 }, needs);
  const last = list.findLast(
    ({ verb, preview, outcome }) => verb !== 'GET' && preview === undefined && (outcome ?? 'unknown') === 'unknown',
  );
  const { adapter, stamp } = last ?? {};
  return adapter === undefined || stamp?.label === undefined ? undefined : { adapter, label: stamp.label };
}

async function withItems(
  store: Pick<RunStore, 'batches'>,
  run: string,
  tasks: readonly StoredTask[],
): Promise<readonly SeenTask[]> {
  // The last attempt of a task is the last one of the list.
  const batches = new Map((await store.batches(run)).map((batch) => [batch.activity, batch]));
  return tasks.map((task) => {
    const batch = batches.get(task.activity);
    return batch === undefined ? task : { ...task, items: countsOfItems(batch) };
  });
}

function countsOfItems({ parallel, total, completed, failed, unknown, cancelled, notStarted }: ItemSums): ItemSums {
  return { parallel, total, completed, failed, unknown, cancelled, notStarted };
}

type CallOfTask = Awaited<ReturnType<typeof undecidedOf>>[number]['call'];

const previewed = ['orchestratorAction', 'orchestratorQuery', 'orchestratorRequest'] as const;

/** The call of a task, from its arguments as they are evaluated now. */
async function callAgain(
  call: CallOfTask,
  run: StoredRunSummary,
  { expressions, secrets, isReadAction, workflow, store }: RunCatalogueNeeds,
): Promise<Call | { readonly none: string }> {
  const { workflow: id, version, workflowDigest: digest, seed } = run;
  const found = call && (await workflow({ id, version, digest }));
  if (call === undefined || found === undefined)
    return { none: 'The document or the state of the run is lost, or the task runs another workflow.' };
  const name = previewed.find((each) => each === call.function);
  if (name === undefined) return { none: 'The call goes to no orchestrator that could say what it would do.' };
  const own = secrets.ofRun({ seed, workflow: id, names: found.workflow.secrets });
  const args = await evaluateArgument({ expressions, secrets: own }, call.with);
  if ('error' in args) return { none: `The arguments of the call cannot be evaluated again: ${args.error.detail ?? ''}` };
  const withoutPasswords = createMask((await filledPasswordsOf(run, store)).values);
  if (withoutPasswords(own.hide(args.text)) !== args.text)
    return { none: 'The call has secrets or passwords of a form, which a preview does not carry.' };
  try {
    return orchestratorArguments(name, readArguments(args.text), isReadAction).call;
  } catch (error) {
    if (error instanceof GatewayError) return { none: error.message };
    throw error;
  }
}

/** Why nothing, or not all, of the data of the task is kept. */
export function missingDataOf({ noData, hasData }: StoredTask): ShownTaskData['noData'] {
  return noData ?? (hasData ? undefined : 'removed');
}

function shownData(task: StoredTask, parts: TaskParts): ShownTaskData {
  const read = (Object.entries(parts) as [keyof TaskParts, string][]).map(([name, stored]) => ({ name, ...readPart(stored) }));
  const truncated = read.filter(({ isCut }) => isCut).map(({ name }) => name);
  const noData = missingDataOf(task);
  return {
    ...Object.fromEntries(read.map(({ name, text }) => [name, text])),
    ...(truncated.length > 0 && { truncated }),
    ...(noData && { noData }),
  };
}

function taskPage(
  store: Pick<RunStore, 'tasks'>,
  run: string,
  { limit, after, filter }: { readonly limit: number; readonly after: number | undefined; readonly filter: TaskFilter },
): Promise<VisiblePage<StoredTask, number>> {
  return visiblePage({
    limit,
    after,
    read: (most, place) => store.tasks(run, { limit: most, after: place }),
    sees: (task) => matches(task, filter),
    placeOf: ({ activity }) => activity,
    sizeOf: (task) => usualTaskSize + Buffer.byteLength(JSON.stringify(task)),
  });
}

/** Bytes by which the times of a task are longer as text. */
const usualTaskSize = 100;

function matches(task: StoredTask, { status, reference, search }: TaskFilter): boolean {
  if (status !== undefined && task.status !== status) return false;
  if (reference !== undefined && task.reference !== reference) return false;
  if (search === undefined) return true;
  const { type, title, detail } = task.error ?? {};
  const wanted = search.toLowerCase();
  return [task.name, task.label, type, title, detail].some((text) => text?.toLowerCase().includes(wanted));
}

function taskNotFound(): GatewayError {
  return new GatewayError('task-not-found', 'The run has no task with this id, or its timeline does not have it.');
}

function notYourData(): GatewayError {
  return new GatewayError(
    'forbidden',
    'What a task got and gave is for who started the run, the authors of its automation, those who may write its workflow, the role admin, and a right to readTaskData.',
  );
}
