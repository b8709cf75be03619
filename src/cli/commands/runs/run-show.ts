import { visible } from '#base/text/visible.ts';
import { durationText, itemsText, type Run, type RunTask } from '#client/gateway.ts';
import type { CommandContext } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { findRun, runOperand, runWords } from '../../lookups/run-lookup.ts';
import { type Fact, factLines } from '../../texts/facts.ts';
import { between, errorText, isUndecided, taskPath, turnText } from '../../texts/run-words.ts';
import { type TextColumn, textTable } from '../../texts/text-table.ts';
import { decidedLines, previewLines, previewsOf, taskAnswer } from './task-lines.ts';

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
    task: { value: 'TASK', default: '', meaning: 'only this task, with its input, arguments and output: its name or its id' },
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
