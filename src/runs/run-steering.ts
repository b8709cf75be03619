import { inTime } from '#base/in-time.ts';
import { type UndecidedCall, undecidedCalls } from './interpreter/pending.ts';
import type { RunState } from './interpreter/run-state.ts';
import { readState } from './interpreter/state-text.ts';
import { lostCalls } from './run-calls.ts';
import type { RunFinder } from './run-finder.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { ClaimedRun, RunCommand, StoredRun } from './run-records.ts';
import { chosenCall, decidedAlready, documentGone, hasEnded, needsDecision, notSuspended, runNotFound } from './run-refusals.ts';
import type { RunCatalogueNeeds, RunDecision, RunRequest } from './run-requests.ts';
import type { RunStore } from './run-store.ts';

/** See `RunCatalogue`. Each resolves with the run once it has taken the change, or as it is after five seconds. */
interface RunSteering {
  cancel(request: RunRequest): Promise<StoredRun>;
  suspend(request: RunRequest): Promise<StoredRun>;
  resume(request: RunRequest): Promise<StoredRun>;
  decide(request: RunRequest & { readonly decision: RunDecision; readonly resumes?: boolean }): Promise<StoredRun>;
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

interface Steering {
  readonly needs: RunCatalogueNeeds;
  readonly finder: RunFinder;
}

export function createRunSteering(needs: RunCatalogueNeeds, finder: RunFinder): RunSteering {
  const steering = { needs, finder };
  return {
    cancel: async (request) =>
      commanded(steering, (await finder.changeable(request, 'cancelRun')).run, {
        command: { kind: 'cancel' },
        isTaken: () => false,
      }),
    suspend: async (request) =>
      commanded(steering, (await finder.changeable(request, 'suspendRun')).run, {
        command: { kind: 'suspend' },
        isTaken: ({ status }) => status === 'suspended',
      }),
    async resume(request) {
      const { run } = await finder.changeable(request, 'resumeRun');
      if (run.endedAt !== undefined) throw hasEnded(run);
      if (run.status !== 'suspended') throw notSuspended();
      const undecided = await undecidedOf(needs, run);
      if (undecided.length > 0) throw needsDecision(undecided);
      // A run that is held for its people may be suspended again at once.
      const isTaken = async ({ status }: StoredRunSummary): Promise<boolean> =>
        status !== 'suspended' || (await needs.store.commandsOf([run.id])).length === 0;
      return await commanded(steering, run, { command: { kind: 'resume' }, isTaken });
    },
    async decide({ decision, resumes = false, ...request }) {
      if (resumes) await finder.changeable(request, 'resumeRun');
      const { run } = await finder.changeable(request, 'decideRun');
      const { principal } = request;
      if (run.endedAt !== undefined) throw hasEnded(run);
      const undecided = await undecidedOf(needs, run);
      const { activity, attempt, isLost } = chosenCall(undecided, decision.task);
      const { as, output, reason } = decision;
      if (isLost === true && as === 'again') throw documentGone();
      const command: RunCommand = {
        kind: 'decide',
        activity,
        as,
        reason,
        principal: principal.username,
        principalId: principal.id,
        ...(undecided.length > 1 && { ofSeveral: true }),
        ...(output !== undefined && { output }),
      };
      const isOpen = (call: UndecidedCall): boolean => call.activity === activity && call.attempt === attempt;
      return await commanded(steering, run, {
        command,
        key: `decide ${activity} ${attempt}`,
        isTaken: async (now) => !(await undecidedOf(needs, now)).some(isOpen),
      });
    },
  };
}

/** Queues the command, and waits until the run took it. */
async function commanded(
  { needs: { store, clock }, finder }: Steering,
  run: StoredRunSummary,
  { command, key, isTaken }: Commanded,
): Promise<StoredRun> {
  if (run.endedAt !== undefined) throw hasEnded(run);
  if (!(await store.command(run.id, command, key))) throw key === undefined ? hasEnded(run) : decidedAlready();
  const until = clock.monotonic() + commandWait;
  for (;;) {
    const changed = changeOf(store, run.id);
    try {
      const now = await store.summary(run.id);
      if (now === undefined) throw runNotFound();
      if (now.endedAt !== undefined || (await isTaken(now)) || clock.monotonic() >= until) return await finder.whole(run.id);
      await inTime(changed.promise, lookAgain, () => undefined);
    } finally {
      changed.forget();
    }
  }
}

/** The calls of a run about which people are to decide. Of one whose document or state is lost, those that it may have made last. */
async function undecidedOf(needs: RunCatalogueNeeds, run: StoredRunSummary): Promise<readonly UndecidedCall[]> {
  const { workflow: id, version, workflowDigest: digest } = run;
  const [state, found] = await Promise.all([needs.store.readState(run.id), needs.workflow({ id, version, digest })]);
  if (state === undefined) return [];
  const read = found && readable(state);
  return found === undefined || read === undefined ? await lostCalls(run, needs) : undecidedCalls(found.workflow, read);
}

/** Undefined where this gateway cannot read it. */
function readable({ text, values }: NonNullable<ClaimedRun['state']>): RunState | undefined {
  try {
    return readState(text, values);
  } catch {
    return undefined;
  }
}

/** Resolves with the next change of the run that this process learns of. */
function changeOf(store: RunStore, id: string): { readonly promise: Promise<undefined>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const forget = store.onChange((change) => {
    if (change.kind !== 'run' || change.id === id) resolve(undefined);
  });
  return { promise, forget };
}
