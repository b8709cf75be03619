import { randomBytes } from 'node:crypto';
import type { Principal, Role } from '#access/principal.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRun } from '#automations/automation-access.ts';
import { isId } from '#automations/automation-document.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import type { Workflow } from '#workflows/workflow.ts';
import { type UndecidedCall, undecidedCalls } from './interpreter/pending.ts';
import { readState } from './interpreter/state-text.ts';
import { createRunSight, seesRun, seesRunsOf } from './run-access.ts';
import { createRunFollower, type EventPages, type FollowOptions } from './run-follower.ts';
import { isRunId, newRunId, runIdOfKey } from './run-id.ts';
import { listVisible, type RunListRequest, type RunPage } from './run-listing.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { NewEvent, NewRun, RunCommand, StoredRun, TaskRecord } from './run-records.ts';
import {
  chosenCall,
  decidedAlready,
  hasEnded,
  invalidInput,
  keyReused,
  needsDecision,
  notSuspended,
  notYours,
  runNotFound,
  withoutAutomation,
  withoutWorkflow,
} from './run-refusals.ts';
import type { RunStore } from './run-store.ts';

interface RunRequest {
  readonly principal: Principal;
  /** Of the run. */
  readonly id: string;
}

interface StartRequest {
  readonly principal: Principal;
  /** `_id` of the automation. */
  readonly automation: string;
  /** JSON text; absent: the automation's own input. */
  readonly input?: string | undefined;
  /** The Idempotency-Key. */
  readonly key?: string | undefined;
}

/** What people found out about a call whose outcome is unknown. */
export interface RunDecision {
  /** The `id` of a task, or its reference where only one call there is unknown. */
  readonly task: string;
  readonly as: 'done' | 'failed' | 'again';
  /** JSON text. */
  readonly output?: string | undefined;
  readonly reason: string;
}

/**
 * The runs for a principal. A run that it may not see is `run-not-found` (404); what it may not do is `forbidden` (403); a change that the
 * run's state does not allow is `run-conflict` (409). Every operation rejects with `store-unavailable` (503) where the store does.
 */
export interface RunCatalogue {
  /** `replayed`: an earlier request with the key started the run. Also `workflow-not-found` (409) and `invalid-request` (400). */
  start(request: StartRequest): Promise<{ readonly run: StoredRun; readonly replayed: boolean }>;
  read(request: RunRequest): Promise<StoredRun>;
  /** The newest first. A page may have fewer runs than its limit, and still a `next`. */
  list(request: RunListRequest): Promise<RunPage>;
  tasks(request: RunRequest & { readonly limit: number; readonly after?: number | undefined }): Promise<readonly TaskRecord[]>;
  cancel(request: RunRequest): Promise<StoredRun>;
  suspend(request: RunRequest): Promise<StoredRun>;
  resume(request: RunRequest): Promise<StoredRun>;
  /** Needs the role admin. */
  decide(request: RunRequest & { readonly decision: RunDecision }): Promise<StoredRun>;
  /** A new run with the same input and version, which belongs to the principal. */
  rerun(
    request: RunRequest & { readonly key?: string | undefined },
  ): Promise<{ readonly run: StoredRun; readonly replayed: boolean }>;
  /** Hands events to the runs that listen. The role is checked already. An event with the `source` and `id` of an earlier one is dropped. */
  publish(events: readonly Pick<NewEvent, 'event'>[]): Promise<void>;
  /** See `RunFollower.run`. */
  follow(request: RunRequest & FollowOptions): Promise<EventPages | undefined>;
  /** See `RunFollower.all`. */
  followAll(request: { readonly principal: Principal } & FollowOptions): Promise<EventPages>;
}

/** The parts that the runs are made from. */
export interface RunCatalogueNeeds {
  readonly store: RunStore;
  readonly clock: Clock;
  /** The automation, with its own input as JSON text, for anybody. */
  readonly automation: (
    id: string,
  ) => Promise<{ readonly automation: Automation; readonly input: string | undefined } | undefined>;
  /** A version of a workflow, or its newest; with the role of its writer. */
  readonly workflow: (name: {
    readonly id: string;
    readonly version?: string | undefined;
  }) => Promise<{ readonly workflow: Workflow; readonly writtenAs: Role } | undefined>;
  /** What in an input does not satisfy the form of the automation, or the schema of the workflow. */
  readonly inputProblems: (given: {
    readonly automation: Automation;
    readonly workflow: Workflow;
    readonly input: string;
  }) => Promise<readonly RequestProblem[]>;
}

/** Milliseconds that a request waits for the run to take a command. */
const commandWait = 5_000;
/** Milliseconds until the run is looked at again without a notification. */
const lookAgain = 200;

interface Commanded {
  readonly command: RunCommand;
  /** At most one command of the run has it. */
  readonly key?: string;
  readonly isTaken: (run: StoredRunSummary) => boolean | Promise<boolean>;
}

export function createRunCatalogue(needs: RunCatalogueNeeds): RunCatalogue {
  const { store, clock } = needs;
  const sight = createRunSight(needs);
  const follower = createRunFollower({ store, clock, sight });

  const visible = async ({
    principal,
    id,
  }: RunRequest): Promise<{ readonly run: StoredRunSummary; readonly automation: Automation | undefined }> => {
    const run = isRunId(id) ? await store.summary(id) : undefined;
    const found = run?.automation === undefined ? undefined : await needs.automation(run.automation.id);
    const automation = found?.automation;
    if (run === undefined || !seesRun(principal, { owner: run.principal.id, automation })) throw runNotFound();
    return { run, automation };
  };

  const whole = async (id: string): Promise<StoredRun> => {
    const run = await store.read(id);
    if (run === undefined) throw runNotFound();
    return run;
  };

  const changeable = async (request: RunRequest): Promise<StoredRunSummary> => {
    const { run, automation } = await visible(request);
    const { principal } = request;
    if (!principal.roles.includes('admin') && (automation === undefined || !mayRun(principal, automation))) throw notYours();
    return run;
  };

  /** Queues the command, and waits until the run took it. */
  const commanded = async (run: StoredRunSummary, { command, key, isTaken }: Commanded): Promise<StoredRun> => {
    if (run.endedAt !== undefined) throw hasEnded(run);
    if (!(await store.command(run.id, command, key))) throw key === undefined ? hasEnded(run) : decidedAlready();
    const until = clock.monotonic() + commandWait;
    for (;;) {
      const changed = changeOf(store, run.id);
      try {
        const now = await store.summary(run.id);
        if (now === undefined) throw runNotFound();
        if (now.endedAt !== undefined || (await isTaken(now)) || clock.monotonic() >= until) return await whole(run.id);
        await inTime(changed.promise, lookAgain, () => undefined);
      } finally {
        changed.forget();
      }
    }
  };

  const create = async (run: NewRun): Promise<{ readonly run: StoredRun; readonly replayed: boolean }> => {
    await store.create([run]);
    const stored = await whole(run.id);
    if (stored.input !== run.input) throw keyReused();
    return { run: stored, replayed: stored.seed !== run.seed };
  };

  /** The run that an earlier request with the key started, whatever has changed about its automation since. */
  const replayed = async (
    { principal, automation, key }: Required<Pick<StartRequest, 'principal' | 'automation' | 'key'>>,
    input: string,
  ): Promise<{ readonly run: StoredRun; readonly replayed: true } | undefined> => {
    const run = key === undefined ? undefined : await store.read(runIdOfKey({ caller: principal.id, automation, key }));
    if (run === undefined) return undefined;
    if (run.input !== input) throw keyReused();
    return { run, replayed: true };
  };

  const newRun = (
    { principal, automation, key }: Pick<StartRequest, 'principal' | 'key'> & { readonly automation: Automation },
    { workflow, writtenAs }: { readonly workflow: Workflow; readonly writtenAs: Role },
    input: string,
  ): NewRun => ({
    id: key === undefined ? newRunId(clock.now()) : runIdOfKey({ caller: principal.id, automation: automation._id, key }),
    automation: { id: automation._id, name: automation.name },
    workflow: workflow.id,
    version: workflow.version,
    input,
    seed: randomBytes(16).toString('base64url'),
    principal,
    delegated: [writtenAs],
    startedBy: { principal: principal.username },
    parent: undefined,
  });

  const runnable = async ({ principal, automation: id }: Pick<StartRequest, 'principal' | 'automation'>) => {
    const found = isId(id) ? await needs.automation(id) : undefined;
    if (found === undefined || !seesRunsOf(principal, found.automation))
      throw new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
    if (!mayRun(principal, found.automation)) throw notYours();
    return found;
  };

  return {
    async start({ principal, automation: id, input: given, key }) {
      const { automation, input: own } = await runnable({ principal, automation: id });
      const input = given ?? own ?? '{}';
      const earlier = await replayed({ principal, automation: id, key }, input);
      if (earlier !== undefined) return earlier;
      const named = automation.data?.workflowId;
      const found = named === undefined ? undefined : await needs.workflow({ id: named });
      if (found === undefined) throw withoutWorkflow(named);
      const problems = await needs.inputProblems({ automation, workflow: found.workflow, input });
      if (problems.length > 0) throw invalidInput(problems);
      return await create(newRun({ principal, automation, key }, found, input));
    },
    read: async (request) => whole((await visible(request)).run.id),
    list: (request) => listVisible(request, { store, sight }),
    async tasks({ limit, after, ...request }) {
      const { run } = await visible(request);
      return await store.tasks(run.id, { limit, after });
    },
    cancel: async (request) => commanded(await changeable(request), { command: { kind: 'cancel' }, isTaken: () => false }),
    suspend: async (request) =>
      commanded(await changeable(request), { command: { kind: 'suspend' }, isTaken: ({ status }) => status === 'suspended' }),
    async resume(request) {
      const run = await changeable(request);
      if (run.endedAt !== undefined) throw hasEnded(run);
      if (run.status !== 'suspended') throw notSuspended();
      const undecided = await undecidedOf(needs, run);
      if (undecided.length > 0) throw needsDecision(undecided);
      return await commanded(run, { command: { kind: 'resume' }, isTaken: ({ status }) => status !== 'suspended' });
    },
    async decide({ decision, ...request }) {
      const { run } = await visible(request);
      const { principal } = request;
      if (!principal.roles.includes('admin'))
        throw new GatewayError('forbidden', 'A decision about a call needs the role admin.');
      if (run.endedAt !== undefined) throw hasEnded(run);
      const { activity, attempt } = chosenCall(await undecidedOf(needs, run), decision.task);
      const { as, output, reason } = decision;
      const command: RunCommand = {
        kind: 'decide',
        activity,
        as,
        reason,
        principal: principal.username,
        ...(output !== undefined && { output }),
      };
      const isOpen = (call: UndecidedCall): boolean => call.activity === activity && call.attempt === attempt;
      return await commanded(run, {
        command,
        key: `decide ${activity} ${attempt}`,
        isTaken: async (now) => !(await undecidedOf(needs, now)).some(isOpen),
      });
    },
    async rerun({ key, ...request }) {
      const { run, automation } = await visible(request);
      if (automation === undefined) throw withoutAutomation();
      if (!mayRun(request.principal, automation)) throw notYours();
      const found = await needs.workflow({ id: run.workflow, version: run.version });
      if (found === undefined) throw withoutWorkflow(`${run.workflow} ${run.version}`);
      const { input } = await whole(run.id);
      return await create(newRun({ principal: request.principal, automation, key }, found, input));
    },
    publish: (events) => store.publish(events.map(({ event }) => ({ at: clock.now(), kind: 'message', event }))),
    async follow({ after, signal, ...request }) {
      const { run } = await visible(request);
      return await follower.run({ id: run.id, hasEnded: run.endedAt !== undefined }, { after, signal });
    },
    followAll: ({ principal, ...options }) => follower.all(principal, options),
  };
}

/** The calls of a run about which people are to decide. */
async function undecidedOf({ store, workflow }: RunCatalogueNeeds, run: StoredRunSummary): Promise<readonly UndecidedCall[]> {
  const [state, found] = await Promise.all([store.readState(run.id), workflow({ id: run.workflow, version: run.version })]);
  return state === undefined || found === undefined ? [] : undecidedCalls(found.workflow, readState(state.text, state.values));
}

/** Resolves with the next change of the run that this process learns of. */
function changeOf(store: RunStore, id: string): { readonly promise: Promise<undefined>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const forget = store.onChange((change) => {
    if (change.kind !== 'run' || change.id === id) resolve(undefined);
  });
  return { promise, forget };
}
