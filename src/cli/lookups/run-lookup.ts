import type { Gateway, ListedRun, RunTask } from '#client/gateway.ts';
import { CommandFailed } from '../gateway-session.ts';
import { taskPath, turnText } from '../texts/run-words.ts';
import { ambiguous, quoted } from './ambiguous.ts';
import { findAutomation } from './automation-lookup.ts';

export const runOperand = 'RUN';
/** For the descriptions of commands. */
export const runWords = 'RUN is the id of a run, or the name of an automation: its newest run.';
export const openRunWords = 'RUN is the id of a run, or the name of an automation that has one run under way.';

const ended: ReadonlySet<ListedRun['status']> = new Set(['completed', 'faulted', 'cancelled']);

/** The id of the run that a person named. `isOpen`: of an automation only a run that has not ended. */
export async function findRun(gateway: Gateway, wanted: string, isOpen = false): Promise<string> {
  if (/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/iu.test(wanted)) return wanted;
  const { _id, name } = await findAutomation(gateway, wanted);
  const { list } = (await gateway.listRuns({ query: { automation: _id, limit: 100 } })).value;
  const found = isOpen ? list.filter(({ status }) => !ended.has(status)) : list.slice(0, 1);
  const [only, ...others] = found;
  if (only === undefined) throw new CommandFailed(`the automation ${quoted(name)} has no run${isOpen ? ' under way' : ''}`);
  if (others.length > 0)
    throw ambiguous(
      wanted,
      'runs',
      found.map(({ id, status, createdAt }) => `${id}  ${status}  ${createdAt}`),
    );
  return only.id;
}

/** A task of a run, by its id, its name or the names of the tasks around it, such as `all/checkSync[3]`. */
export async function findTask(
  gateway: Gateway,
  { run, wanted, isWanted }: { readonly run: string; readonly wanted: string; readonly isWanted: (task: RunTask) => boolean },
): Promise<RunTask> {
  const tasks = await Array.fromAsync(gateway.each.listRunTasks({ path: { id: run }, query: { limit: 1000 } }));
  const byId = tasks.find(({ id }) => id === wanted);
  if (byId !== undefined) return byId;
  const found = tasks.filter((task) => isWanted(task) && namesOf(task).includes(wanted));
  const [only, ...others] = found;
  if (only === undefined) throw new CommandFailed(`the run has no task ${quoted(wanted)} of which this can be asked`);
  if (others.length > 0)
    throw ambiguous(
      wanted,
      'tasks',
      found.map((task) => `${task.id}  ${taskPath(task.reference)}${turnText(task)}`),
    );
  return only;
}

function namesOf(task: RunTask): readonly string[] {
  const path = taskPath(task.reference);
  return [task.name, task.reference, path, `${path}${turnText(task)}`];
}
