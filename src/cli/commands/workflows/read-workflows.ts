import { diff } from 'node:util';
import { visible, visibleLines } from '#base/text/visible.ts';
import type { ListedWorkflow, ListWorkflowsData, ReadWorkflowData } from '#client/gateway.ts';
import { answeringCommand, gatewayCommand, givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { print } from '../../output.ts';
import { shortTime } from '../../texts/text-table.ts';

export const workflowList = listCommand<ListedWorkflow>({
  name: 'workflows list',
  summary: 'list the workflows, each with its newest version',
  description: ['List the workflows by id, each with its newest version.'],
  options: {
    storer: { value: 'PRINCIPAL', meaning: 'only versions whose calls count by the rights of this principal' },
    limit: { ...limitOption, default: 'all', meaning: 'only the first N, or "all"' },
  },
  what: 'workflows',
  columns: [
    { title: 'WORKFLOW', cell: ({ id }) => id },
    { title: 'VERSION', cell: ({ version }) => version },
    { title: 'VERSIONS', cell: ({ versions }) => String(versions.length), dropped: 4 },
    { title: 'STORED', cell: ({ createdAt }) => shortTime(createdAt), dropped: 3 },
    { title: 'BY', cell: ({ createdBy }) => createdBy, dropped: 2 },
    { title: 'TITLE', cell: ({ title }) => title, dropped: 1 },
  ],
  rows: ({ gateway, given }) =>
    gateway.each.listWorkflows({
      query: { ...givenOptions<NonNullable<ListWorkflowsData['query']>>(given, ['storer']), limit: pageSize(given) },
    }),
});

const versionOption = { value: 'VERSION', meaning: 'this version; without it the newest release' } as const;

export const workflowShow = gatewayCommand({
  name: 'workflows show',
  summary: 'print the document of a workflow',
  description: ['Print the document as it was written, byte for byte where standard output is no terminal.'],
  options: { version: versionOption },
  flags: { json: 'print the document as JSON' },
  operands: ['ID'],
  async work({ context: { stdout, printsToTerminal }, gateway, given }) {
    const headers = { Accept: given.flag('json') ? 'application/json' : 'application/yaml' };
    const query = givenOptions<NonNullable<ReadWorkflowData['query']>>(given, ['version']);
    const { text } = await gateway.readWorkflow({ path: { id: given.operand('ID') }, query, headers });
    await print(stdout, printsToTerminal ? `${visibleLines(text).join('\n')}\n` : text);
    return 0;
  },
});

/** Lines around a change. */
const context = 3;

export const workflowDiff = answeringCommand({
  name: 'workflows diff',
  summary: 'print what differs between two versions of a workflow',
  description: [
    'Print the lines that differ between two versions, in the unified format of diff; nothing where the bytes are equal.',
  ],
  operands: ['ID', 'V1', 'V2'],
  async answer({ gateway, given }) {
    const id = given.operand('ID');
    const versions = [given.operand('V1'), given.operand('V2')] as const;
    const [before, after] = await Promise.all(
      versions.map(async (version) => {
        const headers = { Accept: 'application/yaml' };
        return (await gateway.readWorkflow({ path: { id }, query: { version }, headers })).text.split('\n');
      }),
    );
    const hunks = hunksOf(before ?? [], after ?? []);
    const head = hunks.length === 0 ? [] : [`--- ${id} ${versions[0]}`, `+++ ${id} ${versions[1]}`];
    const lines = [...head, ...hunks.flatMap(({ place, lines: each }) => [place, ...each])];
    return { value: { id, versions, hunks }, lines: lines.map(visible) };
  },
});

interface Hunk {
  /** Such as `@@ -3,7 +3,8 @@`. */
  readonly place: string;
  /** Each begins with a space, `-` or `+`. */
  readonly lines: readonly string[];
}

interface PlacedLine {
  readonly mark: ' ' | '+' | '-';
  readonly text: string;
  /** Lines before it, in both texts. */
  readonly at: readonly [before: number, after: number];
}

function hunksOf(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const lines = placedLines(before, after);
  const changed = lines.flatMap(({ mark }, index) => (mark === ' ' ? [] : [index]));
  const hunks: Hunk[] = [];
  for (let next = 0; next < changed.length; ) {
    const first = changed[next] ?? 0;
    let last = first;
    for (; next < changed.length && (changed[next] ?? 0) <= last + 2 * context; next += 1) last = changed[next] ?? last;
    hunks.push(hunkOf(lines.slice(Math.max(0, first - context), last + context + 1)));
  }
  return hunks;
}

function placedLines(before: readonly string[], after: readonly string[]): readonly PlacedLine[] {
  const at: [number, number] = [0, 0];
  return diff([...before], [...after]).map(([operation, text]) => {
    const line: PlacedLine = { mark: operation === 0 ? ' ' : operation > 0 ? '-' : '+', text, at: [...at] };
    if (operation >= 0) at[0] += 1;
    if (operation <= 0) at[1] += 1;
    return line;
  });
}

function hunkOf(lines: readonly PlacedLine[]): Hunk {
  const range = (side: 0 | 1, others: PlacedLine['mark']): string => {
    const count = lines.filter(({ mark }) => mark !== others).length;
    const start = lines[0]?.at[side] ?? 0;
    return `${count === 0 ? start : start + 1},${count}`;
  };
  return { place: `@@ -${range(0, '+')} +${range(1, '-')} @@`, lines: lines.map(({ mark, text }) => mark + text) };
}
