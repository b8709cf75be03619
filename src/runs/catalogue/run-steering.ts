import type { Principal } from '#access/principal.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/timing/in-time.ts';
import { type UndecidedCall, undecidedCalls } from '../interpreter/pending.ts';
import { type RunState, readState } from '../interpreter/state/run-state.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { ClaimedRun, RunCommand, StoredRun, TaskDecision } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import { lostCalls } from './run-calls.ts';
import { type RunFinder, runConflict, runNotFound } from './run-finder.ts';
import type { IntendDecision, RunCatalogueNeeds, RunDecision, RunRequest, WholeRun } from './run-requests.ts';

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

/** Each resolves with the run once it has taken the change, or as it is after five seconds. */
export function createRunSteering(needs: RunCatalogueNeeds, finder: RunFinder) {
  const send = async (run: StoredRunSummary, commanded: Commanded): Promise<WholeRun> => {
    await command(needs, run, commanded);
    return await finder.whole(run.id);
  };
  return {
    async cancel(request: RunRequest): Promise<WholeRun> {
      const { run } = await finder.changeable(request, 'cancelRun');
      return await send(run, { command: { kind: 'cancel' }, isTaken: () => false });
    },
    async suspend(request: RunRequest): Promise<WholeRun> {
      const { run } = await finder.changeable(request, 'suspendRun');
      return await send(run, { command: { kind: 'suspend' }, isTaken: ({ status }) => status === 'suspended' });
    },
    /** `reason`: for the record, where a person gave one. */
    async resume({ reason, ...request }: RunRequest & { readonly reason?: string | undefined }): Promise<WholeRun> {
      const { run } = await finder.changeable(request, 'resumeRun');
      if (run.endedAt !== undefined) throw hasEnded(run);
      if (run.status !== 'suspended') throw runConflict('The run is not suspended, so there is nothing to resume.');
      const undecided = await undecidedOf(needs, run);
      if (undecided.length > 0) throw needsDecision(undecided);
      // A run that is held for its people may be suspended again at once.
      const isTaken = async ({ status }: StoredRunSummary): Promise<boolean> =>
        status !== 'suspended' || (await needs.store.commandsOf([run.id])).length === 0;
      const decision = reason === undefined ? undefined : decisionOf(request.principal, reason, needs.clock.now());
      return await send(run, { command: { kind: 'resume', ...(decision && { decision }) }, isTaken });
    },
    /** `resumes`: asked by `resume`, which needs its own operation too. */
    async decide({
      decision,
      resumes = false,
      intend,
      ...request
    }: RunRequest & {
      readonly decision: RunDecision;
      readonly resumes?: boolean;
      readonly intend: IntendDecision;
    }): Promise<WholeRun> {
      if (resumes) await finder.changeable(request, 'resumeRun');
      const { run } = await finder.changeable(request, 'decideRun');
      const { principal } = request;
      if (run.endedAt !== undefined) throw hasEnded(run);
      const undecided = await undecidedOf(needs, run);
      const call = chooseCall(undecided, decision.task);
      const isOpen = ({ activity, attempt }: UndecidedCall): boolean => activity === call.activity && attempt === call.attempt;
      const decided = decisionAbout(call, decision, { principal, ofSeveral: undecided.length > 1 });
      await intend(run);
      return await send(run, {
        ...decided,
        isTaken: async (now) => !(await undecidedOf(needs, now)).some(isOpen),
      });
    },
  };
}

/** The command for the run of the call, with its key: the first decision about a call counts. */
export function decisionAbout(
  { activity, attempt, isLost }: UndecidedCall,
  { as, output, reason }: Omit<RunDecision, 'task'>,
  { principal: { id, username }, ofSeveral }: { readonly principal: Principal; readonly ofSeveral: boolean },
): { readonly command: RunCommand; readonly key: string } {
  if (isLost === true && as === 'again') throw documentGone();
  const by = { principal: username, principalId: id, ...(ofSeveral && { ofSeveral }) };
  const command: RunCommand = { kind: 'decide', activity, as, reason, ...by, ...(output !== undefined && { output }) };
  return { command, key: `decide ${activity} ${attempt}` };
}

function decisionOf({ username: principal }: Principal, reason: string, at: number): TaskDecision {
  return { as: 'resumed', principal, at, reason };
}

function hasEnded({ status }: Pick<StoredRun, 'status'>): GatewayError {
  return runConflict(`The run has ended already: it is ${status}.`);
}

function documentGone(): GatewayError {
  return runConflict(
    'The gateway cannot read the document or the state of the run, so the call cannot be made again: decide done or failed.',
  );
}

function needsDecision(calls: readonly UndecidedCall[]): GatewayError {
  return runConflict(
    `The outcome of a call is unknown, and somebody with the right to decide has to: send task, as and reason for each of the tasks ${tasksOf(calls)}.`,
  );
}

function tasksOf(calls: readonly UndecidedCall[]): string {
  return calls.map(({ activity, reference }) => `${activity} (${reference})`).join(', ');
}

/** The call that a decision names: by the id of its task, or by its reference where it is the only one there. */
function chooseCall(calls: readonly UndecidedCall[], task: string): UndecidedCall {
  const named = calls.filter(({ activity, reference }) => String(activity) === task || reference === task);
  const [call] = named;
  if (call !== undefined && named.length === 1) return call;
  if (named.length > 1) {
    const ids = named.map(({ activity }) => activity).join(', ');
    throw runConflict(`Several calls of this task have an unknown outcome: name the id of one (${ids}).`);
  }
  const hint = calls.length === 0 ? 'the run has no such call' : `those of the run are ${tasksOf(calls)}`;
  throw runConflict(`The outcome of this task is not unknown, or was decided already; ${hint}.`);
}

async function command(
  needs: RunCatalogueNeeds,
  run: StoredRunSummary,
  { command: queued, key, isTaken }: Commanded,
): Promise<void> {
  if (run.endedAt !== undefined) throw hasEnded(run);
  if (!(await needs.store.command(run.id, queued, key)))
    throw key === undefined ? hasEnded(run) : runConflict('This call was decided already.');
  await untilSeen(needs, [run.id], async () => {
    const now = await needs.store.summary(run.id);
    if (now === undefined) throw runNotFound();
    return now.endedAt !== undefined || (await isTaken(now));
  });
}

/** Looks again after each change of one of the runs, at most for five seconds. */
export async function untilSeen(
  { store, clock }: Pick<RunCatalogueNeeds, 'clock' | 'store'>,
  runs: readonly string[],
  isSeen: () => Promise<boolean>,
): Promise<void> {
  const until = clock.monotonic() + commandWait;
  for (;;) {
    const changed = changeOf(store, new Set(runs));
    try {
      if ((await isSeen()) || clock.monotonic() >= until) return;
      await inTime(changed.promise, lookAgain, () => undefined);
    } finally {
      changed.forget();
    }
  }
}

/** The calls of a run about which people are to decide. Of one whose document or state is lost, those that it may have made last. */
export async function undecidedOf(needs: RunCatalogueNeeds, run: StoredRunSummary): Promise<readonly UndecidedCall[]> {
  const { workflow: id, version, workflowDigest: digest } = run;
  const [state, found] = await Promise.all([needs.store.readState(run.id), needs.workflow({ id, version, digest })]);
  if (state === undefined) return [];
  const read = found && readable(state);
  return found === undefined || read === undefined ? await lostCalls(run, needs) : undecidedCalls(found.workflow, read);
}

function readable({ text, values }: NonNullable<ClaimedRun['state']>): RunState | undefined {
  try {
    return readState(text, values);
  } catch {
    return undefined;
  }
}

/** Resolves with the next change of one of the runs that this process learns of. */
function changeOf(store: RunStore, runs: ReadonlySet<string>) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const forget = store.onChange((change) => {
    if (change.kind !== 'run' || runs.has(change.id)) resolve(undefined);
  });
  return { promise, forget };
}
