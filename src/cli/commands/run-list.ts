import { durationText, type Gateway, type ListedRun, type ListRunsData } from '#client/gateway.ts';
import { findAutomation } from '../automation-lookup.ts';
import type { Command, CommandContext, GivenArguments } from '../command.ts';
import { gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { program } from '../help.ts';
import { print } from '../output.ts';
import { between } from '../run-words.ts';
import { type TextColumn, textTable } from '../text-table.ts';

const filters = ['workflow', 'status', 'principal', 'since', 'until'] as const;
/** Runs of a request. */
const pageSize = 100;

export const runList: Command = {
  name: 'runs list',
  summary: 'list the runs of automations',
  description: [
    'List runs, the newest first: a table on a terminal, otherwise NDJSON with every field of a run but',
    'its input and output.',
    '',
    ...loginWords,
  ],
  options: {
    ...gatewayOptions,
    automation: { value: 'NAME', default: '', meaning: 'only runs of this automation: its exact name or its _id' },
    workflow: { value: 'ID', default: '', meaning: 'only runs of this workflow, such as lab.sync' },
    status: { value: 'STATUS', default: '', meaning: 'only runs with this status, such as suspended' },
    principal: { value: 'NAME', default: '', meaning: 'only runs that belong to the principal with this name' },
    since: { value: 'TIME', default: '', meaning: 'only runs of this time or later, such as 2026-11-21T08:00:00Z' },
    until: { value: 'TIME', default: '', meaning: 'only runs before this time' },
    limit: { value: 'N', default: '50', meaning: 'only the newest N runs, or "all"' },
  },
  flags: { ndjson: 'print NDJSON on a terminal too' },
  operands: [],
  run(context, given) {
    const limit = readLimit(given.option('limit'));
    if (limit === undefined) {
      context.stderr.write(`${program} runs list: --limit is neither a whole number of at least 1 nor "all"\n`);
      return Promise.resolve(2);
    }
    return withSession({ context, given, command: 'runs list' }, async ({ gateway }) => {
      await printRuns(context, given, runsOf(gateway, await queryOf(gateway, given), limit));
      return 0;
    });
  },
};

function readLimit(text: string): number | undefined {
  if (text === 'all') return Infinity;
  return /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : undefined;
}

type Filters = NonNullable<ListRunsData['query']>;

async function queryOf(gateway: Gateway, { option }: GivenArguments): Promise<Filters> {
  const given = Object.fromEntries(filters.flatMap((name) => (option(name) === '' ? [] : [[name, option(name)]])));
  const automation = option('automation') === '' ? {} : { automation: (await findAutomation(gateway, option('automation')))._id };
  return { ...given, ...automation };
}

async function* runsOf(gateway: Gateway, query: Filters, limit: number): AsyncGenerator<ListedRun, void, undefined> {
  let left = limit;
  for await (const run of gateway.each.listRuns({ query: { ...query, limit: Math.min(limit, pageSize) } })) {
    yield run;
    left -= 1;
    if (left === 0) return;
  }
}

const columns: readonly TextColumn<ListedRun>[] = [
  { title: 'RUN', cell: ({ id }) => id },
  { title: 'STATUS', cell: ({ status }) => status },
  { title: 'CREATED', cell: ({ createdAt }) => createdAt.replace(/\.\d+Z$/u, 'Z'), dropped: 1 },
  { title: 'TOOK', cell: (run) => tookText(run), dropped: 3 },
  { title: 'STARTED BY', cell: ({ startedBy }) => startedBy.principal ?? startedBy.schedule, dropped: 4 },
  { title: 'WORKFLOW', cell: ({ workflow, version }) => `${workflow} ${version}`, dropped: 2 },
];

function tookText({ startedAt, endedAt }: ListedRun): string | undefined {
  const took = between(startedAt, endedAt);
  return took === undefined ? undefined : durationText(took);
}

async function printRuns(
  { stdout, stderr, printsToTerminal, outputColumns }: CommandContext,
  given: GivenArguments,
  runs: AsyncIterable<ListedRun>,
): Promise<void> {
  if (!printsToTerminal || given.flag('ndjson')) {
    for await (const run of runs) await print(stdout, `${JSON.stringify(run)}\n`);
    return;
  }
  const list = await Array.fromAsync(runs);
  if (list.length === 0) stderr.write('no runs\n');
  else await print(stdout, `${textTable(columns, list, outputColumns).join('\n')}\n`);
}
