import { visible, visibleLines } from '#base/text/visible.ts';
import {
  durationText,
  type Gateway,
  GatewayError,
  itemsText,
  type PreviewOfTask,
  type Run,
  type RunTask,
  type TaskData,
} from '#client/gateway.ts';
import type { CommandContext } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { findRun, findTask, runOperand, runWords } from '../../name-lookup.ts';
import { between, errorText, isUndecided, taskPath, turnText } from '../../texts/run-words.ts';
import { type Fact, factLines, type TextColumn, textTable } from '../../texts/text-table.ts';

export const runShow = answeringCommand({
  name: 'runs show',
  summary: 'print a run and its tasks',
  description: [
    'Print a run: its state, input, output and error, and its tasks in the order of their begin.',
    'For a suspended run the command says what people have to decide, and with --preview what the orchestrator',
    'says now that these calls would do. With --task instead: what a task got and gave.',
    runWords,
  ],
  options: {
    task: { value: 'TASK', meaning: 'only this task, with its input, arguments and output: its name or its id' },
  },
  flags: { preview: 'ask the orchestrator what the undecided calls would do' },
  operands: [runOperand],
  async answer({ context, gateway, given }) {
    const path = { id: await findRun(gateway, given.operand(runOperand)) };
    if (given.option('task') !== '') return await taskAnswer(gateway, path.id, given.option('task'));
    const run = exact(await gateway.readRun({ path }));
    const tasks = await Array.fromAsync(gateway.each.listRunTasks({ path, query: { limit: 1000 } }));
    const previews = given.flag('preview') ? await previewsOf(gateway, path.id, tasks.filter(isUndecided)) : [];
    const value = { ...run, tasks, ...(previews.length > 0 && { previews }) };
    return { value, lines: [...linesOf(context, run, tasks), ...previews.flatMap(previewLines)] };
  },
});

function linesOf({ outputColumns, invocation }: CommandContext, run: Run, tasks: readonly RunTask[]): readonly string[] {
  // The error is what a person looks for: it may wrap.
  const error = factLines([['error', run.error && errorText(run.error)]]);
  const table = tasks.length === 0 ? [] : ['', ...textTable(columnsOf(run), tasks, outputColumns)];
  const decided = tasks.flatMap((task) => decidedLines(task));
  const reasons = decided.length === 0 ? [] : ['', ...decided];
  const decisions = run.status === 'suspended' ? decisionLines(run, tasks, invocation) : [];
  const items = itemLines(run, tasks, invocation);
  return [...factLines(factsOf(run), outputColumns), ...error, ...table, ...reasons, ...decisions, ...items];
}

function factsOf(run: Run): readonly Fact[] {
  const { id, status, workflow, version, startedBy, automation, parent, createdAt, startedAt, endedAt } = run;
  const { items, input, output } = run;
  const took = between(startedAt, endedAt);
  const by = startedBy.principal ?? `the schedule ${startedBy.schedule ?? ''}, due ${startedBy.due ?? ''}`;
  return [
    ['run', id],
    ['status', `${status}${took === undefined ? '' : ` after ${durationText(took)}`}`],
    ['workflow', `${workflow} ${version}`],
    ['automation', automation],
    ['started', `${startedAt ?? createdAt} by ${by}`],
    ['parent', parent?.run],
    ['items', items && itemsText(items)],
    ['input', input === undefined ? undefined : JSON.stringify(input)],
    ['output', output === undefined ? undefined : JSON.stringify(output)],
  ];
}

function columnsOf({ startedAt, createdAt }: Run): readonly TextColumn<RunTask>[] {
  const since = startedAt ?? createdAt;
  return [
    { title: 'ID', cell: ({ id }) => id, dropped: 2 },
    { title: 'BEGIN', cell: ({ begin }) => `${(Math.max(0, between(since, begin) ?? 0) / 1_000).toFixed(3)} s`, dropped: 3 },
    { title: 'TOOK', cell: (task) => durationOf(task), dropped: 4 },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'REQUEST', cell: ({ requestId }) => requestId, dropped: 5 },
    { title: 'TASK', cell: (task) => `${taskPath(task.reference)}${turnText(task)}` },
    { title: 'LABEL', cell: ({ label }) => label, dropped: 6 },
    { title: 'ITEMS', cell: ({ items }) => items && itemsText(items), dropped: 7 },
    { title: 'ERROR', cell: ({ error }) => error && errorText(error), dropped: 1 },
  ];
}

function durationOf({ begin, end }: RunTask): string | undefined {
  const took = between(begin, end);
  return took === undefined ? undefined : durationText(took);
}

const reasons: Readonly<Record<NonNullable<Run['suspendedBy']>, string>> = {
  people: 'A person suspended the run.',
  'unknown-outcome': 'The document or the state of the run is lost, and its calls may have happened.',
  'delegation-lost': 'A person who answers for the calls of the run is gone, or may not make them.',
  'person-gone': 'The principal in whose name the run calls was removed or blocked.',
  'store-loss': 'The store lost commits while the run was under way, and it waits for people.',
};

/** What people type, for each call whose outcome is unknown. */
function decisionLines({ id, suspendedBy }: Run, tasks: readonly RunTask[], invocation: string): readonly string[] {
  const undecided = tasks.filter(isUndecided);
  if (undecided.length === 0)
    return ['', `${reasons[suspendedBy ?? 'people']} It goes on after: ${resumption(suspendedBy, id, invocation)}`];
  return [
    '',
    'It is unknown whether these calls happened. Find out, and decide: done, failed or again.',
    ...undecided.map(
      (task) =>
        `  ${invocation} runs decide ${visible(id)} --task ${visible(task.id)} --as done --reason '…'  (${visible(task.name)})`,
    ),
  ];
}

/** What people type for undecided items of batches. */
function itemLines({ id }: Run, tasks: readonly RunTask[], invocation: string): readonly string[] {
  const undecided = tasks.filter(({ items }) => (items?.unknown ?? 0) > 0);
  if (undecided.length === 0) return [];
  return [
    '',
    'It is unknown whether calls of these items happened. Find out, and decide: done, failed or again.',
    ...undecided.flatMap(({ id: task, items }) => [
      `  ${invocation} runs items ${visible(id)} --task ${visible(task)} --status unknown`,
      `  ${invocation} runs decide ${visible(id)} --task ${visible(task)} --items unknown --expected ${items?.unknown} --as done --reason '…'`,
    ]),
  ];
}

function resumption(suspendedBy: Run['suspendedBy'], id: string, invocation: string): string {
  return `${invocation} ${suspendedBy === 'store-loss' ? "runs release --reason '…'" : `runs resume ${visible(id)}`}`;
}

/** What a task got and gave, for `runs show --task`. */
async function taskAnswer(gateway: Gateway, run: string, wanted: string) {
  const { id } = await findTask(gateway, { run, wanted, isWanted: () => true });
  const path = { id: run, taskId: id };
  const [task, data] = [exact(await gateway.readTask({ path })), exact(await gateway.readTaskData({ path }))];
  return { value: { ...task, data }, lines: [...taskFacts(task), ...decidedLines(task), ...dataLines(data)] };
}

function taskFacts(task: RunTask): readonly string[] {
  return factLines([
    ['task', `${taskPath(task.reference)}${turnText(task)}`],
    ['id', task.id],
    ['label', task.label],
    ['status', task.status],
    ['begin', task.begin],
    ['end', task.end],
    ['request', task.requestId],
    ['error', task.error && errorText(task.error)],
  ]);
}

function dataLines({ truncated = [], noData, ...data }: TaskData): readonly string[] {
  const parts = (['input', 'arguments', 'output'] as const).map((name): readonly [string, string | undefined] => {
    const end = truncated.includes(name) ? ' … (cut)' : '';
    return [name, data[name] && `${data[name]}${end}`];
  });
  return factLines([...parts, ['not kept', noData]]);
}

/** What people decided about a task, with their reasons. */
function decidedLines({ id, reference, decisions = [] }: RunTask): readonly string[] {
  return decisions.map(({ as, principal, at, reason }) =>
    visible(`${at} ${principal}: ${as} ${id} (${taskPath(reference)}): ${reason}`),
  );
}

interface NamedPreview {
  readonly task: string;
  readonly preview: PreviewOfTask;
}

/** One after the other; a person who may not ask learns why. */
async function previewsOf(gateway: Gateway, run: string, tasks: readonly RunTask[]): Promise<readonly NamedPreview[]> {
  const previews: NamedPreview[] = [];
  for (const { id, name } of tasks) {
    try {
      previews.push({ task: name, preview: (await gateway.previewTask({ path: { id: run, taskId: id }, body: {} })).value });
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status === undefined) throw error;
      previews.push({ task: name, preview: { kind: 'none', reason: error.message } });
    }
  }
  return previews;
}

function previewLines({ task, preview }: NamedPreview): readonly string[] {
  const found = preview.rollback === undefined ? [] : [visible(preview.rollback.explanation)];
  if (preview.kind === 'none') return ['', visible(`${task}: no preview: ${preview.reason}`), ...found];
  const { kind, text, explanation = 'nothing' } = preview;
  const shown = visibleLines(text || explanation);
  return ['', visible(`${task}: what the orchestrator says that it would do (${kind}):`), ...shown, ...found];
}
