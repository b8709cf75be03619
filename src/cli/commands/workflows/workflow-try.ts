import { isMap, isScalar } from 'yaml';
import { visible } from '#base/text/visible.ts';
import { type Automation, type Gateway, GatewayError, type StoredWorkflow } from '#client/gateway.ts';
import { isPrerelease, versionKey } from '#workflows/catalogue/version-key.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { parseYaml } from '#yaml/yaml-text.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { CommandFailed, type GatewaySession } from '../../gateway-session.ts';
import { readFile, readRunInput } from '../../input-files.ts';
import { ambiguous, findAutomation, quoted } from '../../name-lookup.ts';
import { followWords, inputOption, startFlags, startRun, tellStarted } from '../runs/start-runs.ts';
import { storeDocument, tellRefusal } from './change-workflows.ts';

export const workflowTry = gatewayCommand({
  name: 'workflows try',
  summary: 'store a workflow as a version for development, and run it once',
  description: [
    'Store the document as the next patch of its newest release with "-dev.N", such as 1.4.1-dev.1, and run',
    'it once. No schedule runs it: without a version an automation runs the newest release. The run is one',
    'of the automation that names the workflow. If there is none, the command makes one with the name of the',
    'workflow. Print the id of the run.',
    ...followWords,
  ],
  options: {
    input: inputOption,
    automation: { value: 'NAME', meaning: 'run it by this automation: its name or its _id' },
  },
  flags: startFlags,
  operands: ['FILE'],
  async work(session) {
    const { context, given } = session;
    const file = given.operand('FILE');
    const text = await readFile(context, file, workflowSizeLimit);
    const input = await readRunInput(context, given.option('input'));
    const document = namedDocument(text);
    if (document === undefined)
      throw new CommandFailed(
        `${file} has no document with namespace, name and version; see ${context.invocation} check-workflow`,
      );
    const automation = await automationFor(session, document.id);
    const stored = await storeNext(session, file, document);
    if (stored === undefined) return 1;
    context.stderr.write(`Stored ${visible(stored.id)} ${stored.version}.\n`);
    const { _id, name } = automation ?? (await made(session.gateway, document.id));
    const version = JSON.stringify(stored.version);
    return await tellStarted(session, await startRun(session, 'runAutomation', { id: _id, members: { input, version } }), name);
  },
});

type Found = Pick<Automation, '_id' | 'name'>;

/** Undefined: there is none. */
async function automationFor({ gateway, given }: GatewaySession, id: string): Promise<Found | undefined> {
  const wanted = given.option('automation');
  if (wanted !== '') return await findAutomation(gateway, wanted);
  const query = { equals: id, equalsField: 'data.workflowId', limit: 1000 } as const;
  const all = await Array.fromAsync(gateway.each.listAutomations({ query })).catch(mayNotList);
  // The filter ignores case.
  const naming = all.filter(({ data }) => data?.workflowId === id);
  if (naming.length > 1)
    throw ambiguous(
      id,
      'automations; name one with --automation',
      naming.map(({ name }) => quoted(name)),
    );
  return naming[0];
}

function mayNotList(error: unknown): never {
  if (!(error instanceof GatewayError) || error.status !== 403) throw error;
  throw new CommandFailed('your role may not list automations; name the one that runs the workflow with --automation', 2);
}

async function made(gateway: Gateway, id: string): Promise<Found> {
  const { value } = await gateway.createAutomation({ body: { name: id, data: { workflowId: id } } });
  return value;
}

const attempts = 100;

/** Another person may take the number first, and a deleted version keeps its own. */
async function storeNext(session: GatewaySession, file: string, document: NamedDocument): Promise<StoredWorkflow | undefined> {
  const versions = await versionsOf(session.gateway, document.id);
  const base = nextPatch(versions, document.version);
  const numbers = versions.flatMap((version) =>
    version.startsWith(`${base}-dev.`) ? [Number(/^\d{1,9}$/u.exec(version.slice(base.length + 5))?.[0] ?? 0)] : [],
  );
  const first = Math.max(0, ...numbers) + 1;
  for (let number = first; number < first + attempts; number += 1) {
    const text = document.withVersion(`${base}-dev.${number}`);
    const stored = await storeDocument(session, { file, text });
    if (!(stored instanceof GatewayError)) return stored;
    if (stored.code === 'workflow-exists') continue;
    tellRefusal(session, { file, text }, stored);
    return undefined;
  }
  throw new CommandFailed(`the versions ${base}-dev.${first} to ${base}-dev.${first + attempts - 1} are taken`);
}

async function versionsOf(gateway: Gateway, wanted: string): Promise<readonly string[]> {
  try {
    for await (const { id, versions } of gateway.each.listWorkflows({ query: { limit: 1000 } }))
      if (id === wanted) return versions;
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 403) throw error;
    return await newestVersion(gateway, wanted);
  }
}

/** For people who may not list workflows. */
async function newestVersion(gateway: Gateway, id: string): Promise<readonly string[]> {
  try {
    const { text } = await gateway.readWorkflow({ path: { id }, headers: { Accept: 'application/yaml' } });
    return [namedDocument(text)?.version ?? []].flat();
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return [];
    throw error;
  }
}

/** Without a release that of the document: what is tried then is its first. */
function nextPatch(versions: readonly string[], written: string): string {
  const releases = versions.filter((version) => !isPrerelease(version));
  const [newest] = releases.toSorted((a, b) => Buffer.compare(versionKey(b), versionKey(a)));
  const [core = ''] = (newest ?? written).split(/[-+]/u);
  if (newest === undefined) return core;
  const [major, minor, patch = '0'] = core.split('.');
  return `${major}.${minor}.${BigInt(patch) + 1n}`;
}

interface NamedDocument {
  /** `namespace.name` */
  readonly id: string;
  readonly version: string;
  /** The text with another version, and else as it was written. */
  readonly withVersion: (version: string) => string;
}

/** Undefined where the text has no namespace, name and version. */
function namedDocument(text: string): NamedDocument | undefined {
  const { root } = parseYaml(text);
  const [namespace, name, version] = ['namespace', 'name', 'version'].map((member) => {
    const node = isMap(root) ? root.getIn(['document', member], true) : undefined;
    return isScalar(node) ? node : undefined;
  });
  const [start, end] = version?.range ?? [];
  if (namespace === undefined || name === undefined || version === undefined || start === undefined) return undefined;
  return {
    id: `${String(namespace.value)}.${String(name.value)}`,
    version: String(version.value),
    // In quotes it is the same in YAML and in JSON.
    withVersion: (other) => `${text.slice(0, start)}${JSON.stringify(other)}${text.slice(end)}`,
  };
}
