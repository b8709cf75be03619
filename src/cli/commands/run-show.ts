import { visible } from '#base/visible.ts';
import { durationText, type Run, type RunTask } from '#client/gateway.ts';
import type { Command, CommandContext } from '../command.ts';
import { fitted } from '../display-width.ts';
import { exact, gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { print } from '../output.ts';
import { between, errorText, taskPath, turnText } from '../run-words.ts';
import { type TextColumn, textTable } from '../text-table.ts';

export const runShow: Command = {
  name: 'runs show',
  summary: 'print a run and its tasks',
  description: [
    'Print a run: its state, input, output and error, and its tasks in the order of their begin.',
    'For a suspended run the command says what people have to decide.',
    '',
    ...loginWords,
  ],
  options: gatewayOptions,
  flags: { json: 'print the run and its tasks as one JSON document' },
  operands: ['RUN'],
  run: (context, given) =>
    withSession({ context, given, command: 'runs show' }, async ({ gateway }) => {
      const path = { id: given.operand('RUN') };
      const run = exact(await gateway.readRun({ path }));
      const tasks = await Array.fromAsync(gateway.each.listRunTasks({ path, query: { limit: 1000 } }));
      if (given.flag('json')) await print(context.stdout, `${JSON.stringify({ ...run, tasks }, undefined, 2)}\n`);
      else await printRun(context, run, tasks);
      return 0;
    }),
};

async function printRun({ stdout, outputColumns }: CommandContext, run: Run, tasks: readonly RunTask[]): Promise<void> {
  const facts = factsOf(run).map(([name, text]) => `${name.padEnd(11)}${visible(text)}`);
  const head = facts.map((line) => (outputColumns === undefined ? line : fitted(line, outputColumns)));
  // The error is what a person looks for: it may wrap.
  const error = run.error === undefined ? [] : [`${'error'.padEnd(11)}${visible(errorText(run.error))}`];
  const table = tasks.length === 0 ? [] : ['', ...textTable(columnsOf(run), tasks, outputColumns)];
  const decisions = run.status === 'suspended' ? decisionLines(run, tasks) : [];
  await print(stdout, `${[...head, ...error, ...table, ...decisions].join('\n')}\n`);
}

function factsOf(run: Run): readonly (readonly [string, string])[] {
  const { id, status, workflow, version, startedBy, automation, parent, createdAt, startedAt, endedAt, input, output } = run;
  const took = between(startedAt, endedAt);
  const by = startedBy.principal ?? `the schedule ${startedBy.schedule ?? ''}, due ${startedBy.due ?? ''}`;
  return [
    ['run', id],
    ['status', `${status}${took === undefined ? '' : ` after ${durationText(took)}`}`],
    ['workflow', `${workflow} ${version}`],
    ...(automation === undefined ? [] : ([['automation', automation]] as const)),
    ['started', `${startedAt ?? createdAt} by ${by}`],
    ...(parent === undefined ? [] : ([['parent', parent.run]] as const)),
    ...(input === undefined ? [] : ([['input', JSON.stringify(input)]] as const)),
    ...(output === undefined ? [] : ([['output', JSON.stringify(output)]] as const)),
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
    { title: 'ERROR', cell: ({ error }) => error && errorText(error), dropped: 1 },
  ];
}

function durationOf({ begin, end }: RunTask): string | undefined {
  const took = between(begin, end);
  return took === undefined ? undefined : durationText(took);
}

const unknown = 'urn:orchestration-gateway:errors:outcome-unknown';

const reasons: Readonly<Record<NonNullable<Run['suspendedBy']>, string>> = {
  people: 'Somebody suspended the run.',
  'unknown-outcome': 'The document or the state of the run is lost, and its calls may have happened.',
  'delegation-lost': 'Somebody who answers for the calls of the run is gone, or may not make them.',
  'person-gone': 'The principal in whose name the run calls was removed or blocked.',
};

/** What a person of the role admin sends, for each call whose outcome is unknown. */
function decisionLines({ id, suspendedBy }: Run, tasks: readonly RunTask[]): readonly string[] {
  const undecided = tasks.filter(({ status, error }) => status === 'suspended' && error?.type === unknown);
  if (undecided.length === 0)
    return ['', `${reasons[suspendedBy ?? 'people']} It goes on after POST /runs/${visible(id)}/resume`];
  return [
    '',
    'It is unknown whether these calls happened. Find out, and decide as admin: "done", "failed" or "again".',
    ...undecided.map(
      (task) =>
        `  POST /runs/${visible(id)}/resume {"task":"${visible(task.id)}","as":"done","reason":"…"}  for ${visible(task.name)}`,
    ),
  ];
}
