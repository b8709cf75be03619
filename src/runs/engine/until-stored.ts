import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { isOutcome, type RunEvent } from '../interpreter/state/run-events.ts';
import type { RunCommand } from '../journal/run-records.ts';
import { shortWait } from '../tasks/call-entrance.ts';
import type { RunJournal } from './run-tools.ts';

type CallEnded = Extract<RunCommand, { readonly kind: 'call-ended' }>;

/** Outcomes of calls that the state of the run in the store lacks. Once its holder has lost the run, they go to the next one as commands. */
export class UnsavedOutcomes {
  readonly #run: string;
  readonly #journal: Pick<RunJournal, 'command'>;
  #outcomes: readonly CallEnded[] = [];

  constructor(run: string, journal: Pick<RunJournal, 'command'>) {
    this.#run = run;
    this.#journal = journal;
  }

  add(event: RunEvent): void {
    if (event.kind !== 'callEnded' || !isOutcome(event.result)) return;
    const { key, result, requestId } = event;
    this.#outcomes = [...this.#outcomes, { kind: 'call-ended', key, result, ...(requestId !== undefined && { requestId }) }];
  }

  /** The store has the state with all of them. */
  saved(): void {
    this.#outcomes = [];
  }

  /** Resolves once the store has them, or it is over. */
  async tell(isOver: () => boolean): Promise<void> {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    for (const outcome of outcomes)
      await untilStored(() => this.#journal.command(this.#run, outcome, `ended ${outcome.key}`), isOver);
  }
}

/** Tries until the store takes it. Undefined once it is over while the store is away. */
export async function untilStored<T>(write: () => Promise<T>, isOver: () => boolean): Promise<T | undefined> {
  for (let delay = 50; ; delay = Math.min(delay * 2, shortWait)) {
    try {
      return await write();
    } catch (error) {
      // The store is away, as its own log says.
      if (!isPassingRefusal(error)) throw error;
      if (isOver()) return undefined;
      await sleep(delay);
    }
  }
}

/** What these refuse may be done later. A run waits for them; any other exception is a fault. */
const passingCodes: ReadonlySet<ErrorCode> = new Set([
  'store-unavailable',
  'audit-unavailable',
  'overloaded',
  'too-many-requests',
  'idempotency-key-in-use',
]);

export function isPassingRefusal(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && passingCodes.has(thrown.code);
}
