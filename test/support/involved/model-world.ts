import {
  type Event,
  type Gate,
  type Hand,
  type Hands,
  isGranted,
  type ModelApproval,
  type ModelAutomation,
  ModelRun,
  type ModelVersion,
  type Person,
  type Program,
} from './hand-model.ts';

/** `p` is the workflow of the automations; the documents of `c` run inside of it. */
export type WorkflowName = 'p' | 'c';

interface NewModelRun {
  readonly id: string;
  readonly automation: ModelAutomation;
  readonly version: ModelVersion;
  readonly by: Person;
  readonly as: 'starter' | 'scheduler';
  readonly repeats?: ModelRun | undefined;
}

/** The workflows, automations, runs and events of one history, as the contract says that they go on. */
export class ModelWorld {
  readonly versions: Readonly<Record<WorkflowName, ModelVersion[]>> = { p: [], c: [] };
  readonly automations: ModelAutomation[] = [];
  readonly runs: ModelRun[] = [];
  formWriter: Person | undefined;
  readonly #events: { readonly event: Event; readonly senders: readonly Person[] }[] = [];

  /** Who has a hand in it from the beginning. */
  begin({ id, automation, version, by, as, repeats }: NewModelRun): ModelRun {
    const hands: (readonly [Person | undefined, Hand])[] = [
      [by, as],
      [as === 'scheduler' ? automation.resumer : undefined, 'resumer'],
      [automation.hasForm ? this.formWriter : undefined, 'form'],
      ...automation.authors().map((author) => [author, 'author'] as const),
    ];
    const inner = version.program.flat().flatMap((step) => (step.kind === 'child' ? [this.#child(step.version)] : []));
    const { program } = version;
    const pins = [version, ...inner];
    const repeated: Hands | undefined = repeats?.involved();
    const run = new ModelRun({ id, automation, principal: by, program, pins, hands, repeated, since: this.#events.length });
    this.runs.push(run);
    this.#goOn(run);
    return run;
  }

  publish(event: Event, senders: readonly Person[]): void {
    this.#events.push({ event, senders });
    for (const run of this.runs) if (run.given.program.some((_, branch) => run.step(branch)?.kind === 'listen')) this.#goOn(run);
  }

  /** The person decided about the call whose outcome is unknown. */
  decided(run: ModelRun, by: Person): void {
    const branch = run.given.program.findIndex((_, index) => run.step(index)?.kind === 'unsure');
    run.joins(by, 'decision');
    run.at[branch] = (run.at[branch] ?? 0) + 1;
    this.#goOn(run);
  }

  granted(run: ModelRun, approval: ModelApproval, by: Person): void {
    approval.grants.add(by);
    this.#goOn(run);
  }

  /** It ends with the whole tree of runs around it: no document catches the error. */
  rejected(run: ModelRun): void {
    let root = run;
    while (root.given.parent !== undefined) root = root.given.parent;
    root.end();
  }

  newest(name: WorkflowName): ModelVersion | undefined {
    return this.versions[name].at(-1);
  }

  #child(version: string): ModelVersion {
    const found = version === 'latest' ? this.newest('c') : this.versions.c.find((each) => each.version === version);
    if (found === undefined) throw new Error(`The model has no version ${version}.`);
    return found;
  }

  #goOn(run: ModelRun): void {
    if (run.hasEnded) return;
    for (const branch of run.given.program.keys()) while (this.#passes(run, branch)) run.at[branch] = (run.at[branch] ?? 0) + 1;
    if (run.given.program.some((_, branch) => run.step(branch) !== undefined)) return;
    run.hasEnded = true;
    if (run.given.parent !== undefined) this.#goOn(run.given.parent);
  }

  /** Whether the branch goes on to its next step. */
  #passes(run: ModelRun, branch: number): boolean {
    const step = run.step(branch);
    if (step === undefined || run.hasEnded) return false;
    if (step.kind === 'act' || step.kind === 'ask') return isApproved(run, step, branch);
    if (step.kind === 'emit') {
      this.publish(step.event, [...run.involved().keys()]);
      return true;
    }
    if (step.kind === 'listen') {
      // The first event since the run was created that no other listener of the run has.
      const found = this.#events.findIndex(
        ({ event }, at) => event === step.event && at >= run.given.since && !run.taken.has(at),
      );
      run.taken.add(found);
      for (const sender of this.#events[found]?.senders ?? []) run.joins(sender, 'event');
      return found !== -1;
    }
    if (step.kind === 'child') return this.#runsChild(run, step.version);
    return false;
  }

  #runsChild(parent: ModelRun, version: string): boolean {
    if (parent.child !== undefined) return parent.child.hasEnded;
    const pin = parent.given.pins[1] ?? this.#child(version);
    const { automation, principal, pins } = parent.given;
    // A child is the first task of its parent.
    const id = `${parent.given.id}.1.1`;
    const program: Program = pin.program;
    const child = new ModelRun({ id, automation, principal, program, pins, parent, hands: [], since: this.#events.length });
    parent.child = child;
    this.runs.push(child);
    this.#goOn(child);
    return child.hasEnded;
  }
}

function isApproved(
  run: ModelRun,
  { kind, gate }: { readonly kind: 'act' | 'ask'; readonly gate: Gate },
  branch: number,
): boolean {
  let approval = run.approvals.find((each) => each.kind === kind && each.branch === branch);
  if (approval === undefined) {
    approval = { kind, gate, branch, id: undefined, grants: new Set(), status: 'waiting' };
    run.approvals.push(approval);
  }
  if (approval.status === 'waiting' && isGranted(run, approval)) approval.status = 'used';
  return approval.status === 'used';
}
