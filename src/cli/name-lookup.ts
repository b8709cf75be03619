import { visible } from '#base/text/visible.ts';
import { type Automation, type Gateway, GatewayError, type ListedRun, type RunTask } from '#client/gateway.ts';
import { nearest } from '#yaml/wording.ts';
import { CommandFailed } from './gateway-session.ts';
import { taskPath, turnText } from './texts/run-words.ts';

type NamedAutomation = Pick<Automation, '_id' | 'name'>;

/**
 * The automation that a person named: by its exact name, else by its `_id`, else by its name in another case. Rejects with a CommandFailed
 * that names the nearest names where there is none, and all where there are several.
 */
export async function findAutomation(gateway: Gateway, wanted: string): Promise<NamedAutomation> {
  const alike = await withName(gateway, wanted);
  const named = alike === 'may not list' ? undefined : alike.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  // The route takes no other text for an id.
  const withId = /^[\w.-]{1,128}$/u.test(wanted) ? await byId(gateway, wanted) : undefined;
  if (withId !== undefined) return withId;
  if (alike === 'may not list')
    throw new CommandFailed(
      `no automation has the _id ${quoted(wanted)}. Your role may not list automations, so a name cannot be looked up`,
    );
  const [only, ...others] = alike;
  if (only === undefined)
    throw new CommandFailed(`there is no automation ${quoted(wanted)} that you may see${await suggestions(gateway, wanted)}`);
  if (others.length > 0)
    throw ambiguous(
      wanted,
      'automations',
      alike.map(({ name }) => quoted(name)),
    );
  return only;
}

/** The filter ignores case and accents. */
async function withName(gateway: Gateway, name: string): Promise<readonly NamedAutomation[] | 'may not list'> {
  try {
    return (await gateway.listAutomations({ query: { equals: name, equalsField: 'name', limit: 100 } })).value.list;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 403) return 'may not list';
    throw error;
  }
}

async function byId(gateway: Gateway, id: string): Promise<NamedAutomation | undefined> {
  try {
    return (await gateway.readAutomation({ path: { id } })).value;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return undefined;
    throw error;
  }
}

/** The end of a sentence: up to three names that are like the wanted one, or that contain it. */
async function suggestions(gateway: Gateway, wanted: string): Promise<string> {
  const { list, total } = (await gateway.listAutomations({ query: { limit: 1000 } })).value;
  if (total === 0) return '; the catalogue has none';
  const names = list.map(({ name }) => name);
  const like = nearest(wanted, names);
  const lower = wanted.toLowerCase();
  const containing = names.filter((name) => name.toLowerCase().includes(lower));
  const found = [...new Set([...(like === undefined ? [] : [like]), ...containing])].slice(0, 3);
  if (found.length > 0) return `; did you mean ${found.map(quoted).join(' or ')}?`;
  return names.length > 5 ? '' : `; there are: ${names.map(quoted).join(', ')}`;
}

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

/** Of several things that a person may mean: the command ends with exit code 2 and names them. */
export function ambiguous(wanted: string, what: string, candidates: readonly string[]): CommandFailed {
  const shown = candidates.slice(0, 20).map((candidate) => `  ${visible(candidate)}`);
  return new CommandFailed(`${quoted(wanted)} may mean several ${what}:\n${shown.join('\n')}`, 2);
}

export function quoted(text: string): string {
  return JSON.stringify(visible(text));
}
