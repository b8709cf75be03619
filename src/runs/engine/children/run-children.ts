import type { ChildEffect } from '../../interpreter/effects.ts';
import type { NewRun, RunCommand } from '../../journal/run-records.ts';
import type { RunOutbox } from '../run-outbox.ts';
import type { RunTools } from '../run-tools.ts';
import { childRunId } from './child-runs.ts';

/** What the runs that a run began have to learn of it. */
export class RunChildren {
  readonly #run: string;
  readonly #outbox: RunOutbox;
  /** The store may not have them yet. */
  readonly #begun = new Set<string>();
  readonly #cancelled = new Set<string>();
  /** What people did with the run, and its children have not learned. */
  #inherited: RunCommand[] = [];

  constructor(run: string, outbox: RunOutbox) {
    this.#run = run;
    this.#outbox = outbox;
  }

  begin(child: NewRun): void {
    this.#begun.add(child.id);
    this.#outbox.child(child);
  }

  /** The task no longer waits for the child. One that it never waited for goes on. */
  abandon({ activity, attempt, await: waits }: ChildEffect): void {
    if (waits) this.#tell(childRunId({ run: this.#run, activity, attempt }), { kind: 'cancel' });
  }

  /** The task no longer waits for this item of its batch. */
  cancel(child: string): void {
    this.#tell(child, { kind: 'cancel' });
  }

  /** People did this with the run: it is for all children, whether a task waits for them or not. */
  inherit({ kind }: RunCommand): void {
    if (kind === 'cancel') this.#inherited.push({ kind });
    if (kind === 'suspend' || kind === 'resume') this.#inherited.push({ kind, inherited: true });
  }

  /** Puts what the children inherit into the next write. */
  async commandAll({ openChildren }: Pick<RunTools, 'openChildren'>): Promise<void> {
    if (this.#inherited.length === 0) return;
    const children = new Set([...(await openChildren(this.#run)), ...this.#begun]);
    for (const child of children) for (const command of this.#inherited) this.#tell(child, command);
    this.#inherited = [];
  }

  #tell(child: string, command: RunCommand): void {
    if (this.#cancelled.has(child)) return;
    if (command.kind === 'cancel') this.#cancelled.add(child);
    this.#outbox.command(child, command);
  }
}
