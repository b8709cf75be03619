import type { Operation } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { CallSite, RunSite } from './call-sites.ts';
import { operationsOf } from './operations.ts';
import type { ReadingThreads } from './reading-threads.ts';
import { isPrerelease } from './version-key.ts';
import type { WorkflowCalls } from './workflow-row.ts';
import type { WorkflowStore } from './workflow-store.ts';

/** A call as a document writes it. What is an expression there is absent. */
interface WrittenCall {
  readonly operation: Extract<Operation, 'restAction' | 'restCall' | 'restQuery' | 'restRequest'>;
  readonly adapter: string | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
}

/** Why no role and no right lets the principal have a run make the call; undefined where one does. A sentence. */
type WhyNotCall = (principal: Principal, call: WrittenCall) => string | undefined;

/** A right that is missing to write a document. Line and column are absent where the place is in another document, or not known. */
export interface MissingRight {
  /** RFC 6901; empty for the whole document. */
  readonly pointer: string;
  readonly detail: string;
  readonly line?: number;
  readonly column?: number;
}

/** To write a workflow is to store it: a role or a right has to allow that, and each call of its document. */
export interface WritingRight {
  /** What the principal lacks to make the calls of the document; those of the workflows that it runs count too. */
  missingFor(principal: Principal, workflow: WorkflowCalls): Promise<readonly MissingRight[]>;
  /** What it lacks to store the document: also the operation, and what each stored release of its id needs. */
  missingToStore(principal: Principal, workflow: WorkflowCalls): Promise<readonly MissingRight[]>;
  /**
   * Why the principal may not write the workflow with this id, in words that complete "writing it …"; undefined where it may. Every version
   * counts. With `pinned` only the one that would run does: the pinned version, else the newest release. Where there is none, one that is stored
   * later would run, and every version counts again. A workflow that does not exist may be named by who may store it.
   */
  whyNot(principal: Principal, id: string, pinned?: { readonly version: string | undefined }): Promise<string | undefined>;
}

interface WritingRightOptions {
  readonly store: Pick<WorkflowStore, 'read' | 'versions'>;
  /** Reads documents that were stored before the gateway noted their calls. */
  readonly reading: Pick<ReadingThreads, 'load'>;
  readonly rights: Rights;
  readonly whyNotCall: WhyNotCall;
}

/** What is listed of a document: its writer corrects all places in one pass. */
const mostMissing = 100;

export function createWritingRight(options: WritingRightOptions): WritingRight {
  const { store, rights } = options;
  const missingFor: WritingRight['missingFor'] = async (principal, workflow) => {
    if (principal.roles.includes('admin')) return [];
    const missing = [...(await missingCalls(principal, workflow, options))];
    const judged: JudgedRuns = new Map([[nameOf(workflow), undefined]]);
    for (const site of workflow.workflows) {
      if (missing.length >= mostMissing) break;
      const detail = await whyNotRun(principal, site, { ...options, judged });
      if (detail !== undefined) missing.push({ ...placeOf(site), detail });
    }
    return missing.slice(0, mostMissing);
  };
  return {
    missingFor,
    async missingToStore(principal, workflow) {
      const { id } = workflow;
      if (!rights.permits(principal, 'createWorkflow', id)) return [{ pointer: '', detail: notStorable(id) }];
      const missing = await missingFor(principal, workflow);
      if (missing.length > 0 || principal.roles.includes('admin')) return missing;
      for (const stored of await store.versions(workflow.id)) {
        const [first] = isPrerelease(stored.version) ? [] : await missingFor(principal, stored);
        if (first !== undefined) return [{ pointer: '', detail: `its stored version ${stored.version} ${partOf(first)}` }];
      }
      return [];
    },
    async whyNot(principal, id, pinned) {
      if (principal.roles.includes('admin')) return undefined;
      if (!rights.permits(principal, 'createWorkflow', id)) return 'needs a role or a right to store it (createWorkflow)';
      for (const stored of versionsToWrite(await store.versions(id), pinned)) {
        const [first] = await missingFor(principal, stored);
        if (first !== undefined) return `needs a right that you do not have: its version ${stored.version} ${partOf(first)}`;
      }
      return undefined;
    },
  };
}

function versionsToWrite<Version extends Pick<WorkflowCalls, 'version'>>(
  versions: readonly Version[],
  pinned: { readonly version: string | undefined } | undefined,
): readonly Version[] {
  if (pinned === undefined) return versions;
  const running = versions.find(({ version }) =>
    pinned.version === undefined ? !isPrerelease(version) : version === pinned.version,
  );
  return running === undefined ? versions : [running];
}

const operationOf = {
  http: 'restCall',
  openapi: 'restCall',
  restCall: 'restCall',
  orchestratorAction: 'restAction',
  orchestratorQuery: 'restQuery',
  orchestratorRequest: 'restRequest',
} as const satisfies Readonly<Record<CallSite['function'], WrittenCall['operation']>>;

async function missingCalls(
  principal: Principal,
  workflow: WorkflowCalls,
  { whyNotCall, ...options }: WritingRightOptions,
): Promise<readonly MissingRight[]> {
  const calls = workflow.calls ?? (await callsOfStored(workflow, options));
  if (calls === undefined) return [{ pointer: '', detail: 'cannot be read any more, so that its calls are not known' }];
  return calls.flatMap((site) => {
    const { function: name, adapter, method, path } = site;
    const reason = whyNotCall(principal, { operation: operationOf[name], adapter, method, path });
    return reason === undefined ? [] : [{ ...placeOf(site), detail: `calls ${name}: ${reason}` }];
  });
}

/** Undefined where the document is gone, or cannot be read under the rules of today. */
async function callsOfStored(
  { id, version }: WorkflowCalls,
  { store, reading }: Pick<WritingRightOptions, 'store' | 'reading'>,
): Promise<readonly CallSite[] | undefined> {
  const stored = await store.read({ id, version });
  const loaded = stored === undefined ? undefined : await reading.load(stored.text);
  return loaded !== undefined && 'workflow' in loaded ? operationsOf(loaded.workflow).calls : undefined;
}

/** What `whyNotRun` answered, by name. A workflow whose judgement goes on has no reason yet: workflows may run each other in a circle. */
type JudgedRuns = Map<string, string | undefined>;

/** Why the principal may not have the other workflow run, with all that it runs itself. One that it may not read is like one that does not exist. */
async function whyNotRun(
  principal: Principal,
  { id, version }: RunSite,
  options: WritingRightOptions & { readonly judged: JudgedRuns },
): Promise<string | undefined> {
  // Either of them can get other calls later.
  if (version === 'latest') return `runs the latest version of ${id}, which may change; name a version`;
  const name = nameOf({ id, version });
  const { store, rights, judged } = options;
  if (judged.has(name)) return judged.get(name);
  judged.set(name, undefined);
  const run = rights.permits(principal, 'readWorkflow', id) ? await store.read({ id, version }) : undefined;
  const reason = run === undefined ? 'does not exist, or you may not see it' : await whyNotRunIt(principal, run, options);
  const answer = reason && `runs ${name}: it ${reason}`;
  judged.set(name, answer);
  return answer;
}

async function whyNotRunIt(
  principal: Principal,
  run: WorkflowCalls,
  options: Parameters<typeof whyNotRun>[2],
): Promise<string | undefined> {
  const [first] = await missingCalls(principal, run, options);
  if (first !== undefined) return partOf(first);
  for (const site of run.workflows) {
    const reason = await whyNotRun(principal, site, options);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function nameOf({ id, version }: Pick<WorkflowCalls, 'id' | 'version'>): string {
  return `${id} ${version}`;
}

function placeOf({ pointer = '', line, column }: RunSite | CallSite): Pick<MissingRight, 'pointer' | 'line' | 'column'> {
  return { pointer, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
}

function partOf({ pointer, detail }: MissingRight): string {
  return pointer === '' ? detail : `${detail} (${pointer})`;
}

function notStorable(id: string): string {
  return `no role and no right lets you store the workflow ${id} (createWorkflow)`;
}
