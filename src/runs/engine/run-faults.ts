import type { Workflow } from '#workflows/workflow.ts';
import type { Effect } from '../interpreter/effects.ts';
import { pending } from '../interpreter/pending.ts';
import type { RunEvent } from '../interpreter/state/run-events.ts';
import type { RunState } from '../interpreter/state/run-state.ts';
import { step } from '../interpreter/step.ts';
import { standardError } from '../interpreter/task-error.ts';
import { mayChange } from './children/child-runs.ts';
import { isWorked } from './run-effects.ts';

/** So often the gateway tries work on which it fails itself. */
export const maxFaults = 3;

/** What the gateway itself could not do. */
export const failedInside = standardError(
  'runtime',
  'The gateway failed',
  'The gateway failed on this task. Its log has the cause under the id of the run.',
);

interface Fault {
  readonly thrown: unknown;
  readonly at: number;
  /** A call that may change something may have left. */
  readonly mayHaveLeft: boolean;
}

/** The exceptions of the gateway itself, by the effect of a run that they prevent. */
export class RunFaults {
  readonly #note: (thrown: unknown) => void;
  readonly #counts = new Map<string, number>();

  /** `note` gets each. */
  constructor(note: (thrown: unknown) => void) {
    this.#note = note;
  }

  /** The event that ends the effect: after the third exception, or at once where a change may have left. Undefined: it is tried again. */
  endOf(effect: Effect, { thrown, at, mayHaveLeft }: Fault): RunEvent | undefined {
    this.#note(thrown);
    const { key } = effect;
    const kind = effect.kind === 'child' ? 'childEnded' : 'callEnded';
    if (mayHaveLeft && (kind === 'childEnded' || mayChange([effect]))) {
      const detail =
        'outcome-unknown: The gateway failed after the call may have left. Its log has the cause under the id of the run.';
      return { kind, at, key, result: { kind: 'unknown', detail } };
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count < maxFaults ? undefined : { kind: 'failed', at, key, error: failedInside };
  }

  /** Does the work, again after an exception. Resolves to its event, or to the one that ends the effect where it fails each time. */
  async attempt(
    effect: Effect,
    { work, now }: { readonly work: () => Promise<RunEvent | undefined>; readonly now: () => number },
  ): Promise<RunEvent | undefined> {
    for (;;) {
      try {
        return await work();
      } catch (thrown) {
        const end = this.endOf(effect, { thrown, at: now(), mayHaveLeft: false });
        if (end !== undefined) return end;
      }
    }
  }

  /** Forgets effects that the run no longer waits for. */
  keepOnly(effects: ReadonlyMap<string, unknown>): void {
    for (const key of this.#counts.keys()) if (!effects.has(key)) this.#counts.delete(key);
  }
}

interface Stepping {
  readonly workflow: Workflow;
  readonly state: RunState;
  readonly faults: RunFaults;
  /** Called where the event has to come again, since nothing is worked on for its effect. */
  readonly again: () => void;
}

/** As `step`. An event on which the interpreter fails leaves the state as it is, so that its effect is done again, until the task fails. */
export function stepOrFault(event: RunEvent, { workflow, state, faults, again }: Stepping): ReturnType<typeof step> {
  try {
    return step(workflow, state, event);
  } catch (thrown) {
    const effect = 'key' in event ? pending(workflow, state).find(({ key }) => key === event.key) : undefined;
    if (effect === undefined || event.kind === 'failed') throw thrown;
    const mayHaveLeft = 'result' in event && event.result.kind !== 'aborted';
    const end = faults.endOf(effect, { thrown, at: event.at, mayHaveLeft });
    if (end !== undefined) return step(workflow, state, end);
    if (!isWorked(effect)) again();
    return { state, notes: [] };
  }
}
