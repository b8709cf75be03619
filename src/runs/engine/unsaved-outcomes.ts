import { isOutcome, type RunEvent } from '../interpreter/state/run-events.ts';
import type { RunCommand } from '../journal/run-records.ts';
import type { RunJournal } from './run-journal.ts';
import { untilStored } from './until-stored.ts';

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
