import { visible } from '#base/text/visible.ts';
import { type Gateway, GatewayError, type StoredWorkflow } from '#client/gateway.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { answeringCommand, gatewayCommand, takingCommand } from '../../gateway-command.ts';
import { CommandFailed, type GatewaySession } from '../../gateway-session.ts';
import { readFile } from '../../input-files.ts';
import { print } from '../../output.ts';
import { problemExcerpt } from '../../texts/excerpt.ts';

export const workflowPut = gatewayCommand({
  name: 'workflows store',
  summary: 'store versions of workflows',
  description: [
    'Store each document as a version of its workflow, and print its id and version. The same bytes may be',
    'stored again. Problems go to standard error as those of check-workflow do, also the calls for which',
    'you have no right.',
  ],
  flags: { json: 'print one JSON array of what was stored' },
  operands: ['FILE…'],
  async work(session) {
    const { context, given } = session;
    const files = given.operands('FILE…');
    const stored: StoredWorkflow[] = [];
    for (const file of files) {
      const document = { file, text: await readFile(context, file, workflowSizeLimit) };
      const workflow = await storeDocument(session, document);
      if (workflow instanceof GatewayError) {
        tellRefusal(session, document, workflow);
        continue;
      }
      stored.push(workflow);
      if (!given.flag('json')) await print(context.stdout, `${workflow.id} ${workflow.version}\n`);
    }
    if (given.flag('json')) await print(context.stdout, `${JSON.stringify(stored, undefined, 2)}\n`);
    return stored.length === files.length ? 0 : 1;
  },
});

/** Without a version all of them. */
interface Wanted {
  readonly id: string;
  readonly version?: string;
}

export const workflowTake = takingCommand({
  name: 'workflows take',
  summary: 'take over workflows that a person left behind',
  description: [
    'Take over a workflow, which its id names, in all its versions or in one: its calls count by your',
    'rights from now on. With --from instead, take over every version whose calls count by the rights of a',
    'principal. You need the right to write these workflows.',
  ],
  options: {
    version: { value: 'VERSION', meaning: 'only this version' },
    from: { value: 'PRINCIPAL', meaning: 'every version of this principal: its id or its name' },
  },
  operands: ['[ID]'],
  async takings({ gateway, given }) {
    const [id, from, version] = [given.operand('[ID]'), given.option('from'), given.option('version')];
    if ((from === '') === (id === '')) throw new CommandFailed('give either the id of a workflow or --from', 2);
    if (id === '' && version !== '') throw new CommandFailed('--version goes with the id of a workflow', 2);
    const wanted = id === '' ? await behind(gateway, from) : [{ id, ...(version !== '' && { version }) }];
    return wanted.map(({ id: name, ...query }) => ({
      name: [name, ...Object.values(query)].join(' '),
      async take() {
        const { value } = await gateway.takeWorkflow({ path: { id: name }, query });
        return value.versions.map((taken) => `${name} ${taken}`);
      },
    }));
  },
});

async function behind(gateway: Gateway, storer: string): Promise<readonly Wanted[]> {
  const found: Wanted[] = [];
  for await (const { id, versions } of gateway.each.listWorkflows({ query: { storer, limit: 1000 } }))
    found.push(...versions.map((version) => ({ id, version })));
  return found;
}

export const workflowDelete = answeringCommand({
  name: 'workflows delete',
  summary: 'delete a version of a workflow',
  description: ['Delete a version of a workflow, or with --all every version. An automation that names it keeps it.'],
  options: { version: { value: 'VERSION', meaning: 'the version to delete' } },
  flags: { all: 'delete every version' },
  operands: ['ID'],
  async answer({ gateway, given }) {
    const [id, version] = [given.operand('ID'), given.option('version')];
    if ((version === '') !== given.flag('all')) throw new CommandFailed('give either --version or --all', 2);
    await gateway.deleteWorkflow({ path: { id }, query: version === '' ? {} : { version } });
    return { value: { id, ...(version !== '' && { version }) }, lines: [`deleted ${id}${version === '' ? '' : ` ${version}`}`] };
  },
});

interface WrittenDocument {
  /** As the person wrote it. */
  readonly file: string;
  readonly text: string;
}

const refusals: ReadonlySet<GatewayError['code']> = new Set(['forbidden', 'workflow-exists', 'workflow-invalid']);

/** Stores a version, and tells its warnings. Resolves with the error where the gateway refuses the document. */
export async function storeDocument(
  { context, gateway }: GatewaySession,
  document: WrittenDocument,
): Promise<StoredWorkflow | GatewayError> {
  const contentType = document.file.endsWith('.json') ? 'application/json' : 'application/yaml';
  try {
    const stored = (await gateway.createWorkflow({ rawBody: document.text, contentType })).value;
    for (const warning of stored.warnings)
      context.stderr.write(`${problemExcerpt(warning, { ...document, end: '(warning)' }).join('\n')}\n`);
    return stored;
  } catch (error) {
    if (error instanceof GatewayError && refusals.has(error.code)) return error;
    throw error;
  }
}

/** Writes each problem of a refused document to standard error, with its line. */
export function tellRefusal(
  { context, complain, wordsFor }: GatewaySession,
  document: WrittenDocument,
  error: GatewayError,
): void {
  const problems = error.problem?.errors ?? [];
  if (problems.length === 0) complain(`${visible(document.file)}: ${wordsFor(error)}`);
  else if (error.code === 'forbidden') complain(`${visible(document.file)}: you may not store it, because rights are missing`);
  for (const problem of problems) context.stderr.write(`${problemExcerpt(problem, document).join('\n')}\n`);
}
