import type { Principal } from '#access/principal.ts';
import type { Operation } from '#access/rights/operations.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { defined } from '#base/text/defined.ts';
import { type CallSite, operationOf, operationsOf, type RunSite } from '../call-operations.ts';
import type { ReadingThreads } from '../reading-threads.ts';
import { isPrerelease } from './version-key.ts';
import type { WorkflowCalls } from './workflow-row.ts';
import type { WorkflowStore } from './workflow-store.ts';

/** An argument that is an expression is absent. */
interface WrittenCall {
  readonly operation: Extract<Operation, 'restAction' | 'restCall' | 'restQuery' | 'restRequest'>;
  readonly adapter: string | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
}

/** A sentence; undefined where a role or a right lets a run of the principal make the call. */
type WhyNotCall = (principal: Principal, call: WrittenCall) => string | undefined;

/** To store a workflow, a role or right has to allow the operation, and each call of the document. */
export interface WritingRight {
  /** Rights that the calls need, also those of the workflows that it runs. Places in another document have no line. */
  missingFor(principal: Principal, workflow: WorkflowCalls): Promise<readonly RequestProblem[]>;
  /** Also the operation itself, and the calls of each stored release. */
  missingToStore(principal: Principal, workflow: WorkflowCalls): Promise<readonly RequestProblem[]>;
  /** Completes "writing it …"; undefined where the principal may. Every version counts; with `pinned` the one that would run, if it is stored. */
  whyNot(principal: Principal, id: string, pinned?: { readonly version: string | undefined }): Promise<string | undefined>;
  /** The same right over other documents. */
  over(store: WritingRightOptions['store']): WritingRight;
}

interface WritingRightOptions {
  readonly store: Pick<WorkflowStore, 'read' | 'versions'>;
  /** For documents stored before the gateway noted their calls. */
  readonly reading: Pick<ReadingThreads, 'load'>;
  readonly rights: Rights;
  readonly whyNotCall: WhyNotCall;
}

/** The writer corrects all places in one pass. */
const maxMissing = 100;

export function createWritingRight(options: WritingRightOptions): WritingRight {
  const { store, rights } = options;
  const missingFor: WritingRight['missingFor'] = async (principal, workflow) => {
    if (principal.roles.includes('admin')) return [];
    const missing = [...(await missingCalls(principal, workflow, options))];
    const judged: JudgedRuns = new Map([[nameOf(workflow), undefined]]);
    for (const site of workflow.workflows) {
      if (missing.length >= maxMissing) break;
      const detail = await whyNotRun(principal, site, { ...options, judged });
      if (detail !== undefined) missing.push({ ...placeOf(site), detail });
    }
    return missing.slice(0, maxMissing);
  };
  return {
    missingFor,
    over: (other) => createWritingRight({ ...options, store: other }),
    async missingToStore(principal, workflow) {
      const { id } = workflow;
      if (!rights.permits(principal, 'createWorkflow', id))
        return [{ pointer: '', detail: `no role and no right lets you store the workflow ${id} (createWorkflow)` }];
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

async function missingCalls(
  principal: Principal,
  workflow: WorkflowCalls,
  { whyNotCall, ...options }: WritingRightOptions,
): Promise<readonly RequestProblem[]> {
  const calls = workflow.calls ?? (await callsOfStored(workflow, options));
  if (calls === undefined) return [{ pointer: '', detail: 'cannot be read any more, so that its calls are not known' }];
  return calls.flatMap((site) => {
    const { function: name, adapter, method, path } = site;
    const reason = whyNotCall(principal, { operation: operationOf[name], adapter, method, path });
    return reason === undefined ? [] : [{ ...placeOf(site), detail: `calls ${name}: ${reason}` }];
  });
}

/** Undefined: the document is gone, or unreadable by the present rules. */
async function callsOfStored(
  { id, version }: WorkflowCalls,
  { store, reading }: Pick<WritingRightOptions, 'store' | 'reading'>,
): Promise<readonly CallSite[] | undefined> {
  const stored = await store.read({ id, version });
  const loaded = stored === undefined ? undefined : await reading.load(stored.text);
  return loaded !== undefined && 'workflow' in loaded ? operationsOf(loaded.workflow).calls : undefined;
}

/** By name. Workflows may run each other in a circle: one that is being judged has no reason yet. */
type JudgedRuns = Map<string, string | undefined>;

/** A workflow that the principal may not read counts as one that does not exist. */
async function whyNotRun(
  principal: Principal,
  { id, version }: RunSite,
  options: WritingRightOptions & { readonly judged: JudgedRuns },
): Promise<string | undefined> {
  // Its calls may change later.
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

function placeOf({ pointer = '', line, column }: RunSite | CallSite): Pick<RequestProblem, 'pointer' | 'line' | 'column'> {
  return defined({ pointer, line, column });
}

function partOf({ pointer, detail }: RequestProblem): string {
  return pointer === '' ? detail : `${detail} (${pointer})`;
}
