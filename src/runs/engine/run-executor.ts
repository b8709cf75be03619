import { setImmediate as nextIteration } from 'node:timers/promises';
import { isCut } from '#base/text/cut-text.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { CallEffect, Effect } from '../interpreter/effects.ts';
import { hasOpenFork, pending, undecidedCalls } from '../interpreter/pending.ts';
import type { Note, RunEvent } from '../interpreter/state/run-events.ts';
import { type RunState, readState } from '../interpreter/state/run-state.ts';
import { begin } from '../interpreter/step.ts';
import type { ClaimedRun, QueuedCommand, RunCommand, RunRelease } from '../journal/run-records.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';
import { BegunInStore } from './children/begin-in-store.ts';
import { cancelledInFlight, endForParent, mayChange } from './children/child-runs.ts';
import { RunChildren } from './children/run-children.ts';
import { endAbandoned } from './lost-run.ts';
import { type Arrival, commandsUnlessAway, eventOfCommand, noteCommand, noteDecision, saysNotMade } from './run-commands.ts';
import { isWorked, type WorkedEffect } from './run-effects.ts';
import { RunFaults, stepOrFault } from './run-faults.ts';
import { createKeeper, createOutbox, type RunOutbox } from './run-outbox.ts';
import { withoutPlaceholders } from './run-placeholders.ts';
import { RunSlot } from './run-slot.ts';
import type { RunJournal, RunTools } from './run-tools.ts';
import { traceOfRun } from './run-watcher.ts';
import { RunWork } from './run-work.ts';
import { UnsavedOutcomes, untilStored } from './until-stored.ts';
import { Wakeup } from './wakeup.ts';

interface RunExecutorOptions {
  readonly run: ClaimedRun;
  /** Readers of task data may not see them. */
  readonly passwords: Parameters<typeof createKeeper>[0]['passwords'];
  readonly workflow: Workflow;
  readonly tools: RunTools;
  readonly journal: RunJournal;
  /** False: the lease may have ended, so nothing begins. */
  readonly holds: () => boolean;
  /** Others may be due, and have no place here. */
  readonly isCrowded: () => boolean;
  /** Told of each exception of the gateway itself. */
  readonly faulted: (thrown: unknown) => void;
}

/** Milliseconds after which the store has the state of a run that only computes. A write waits as long for the intent of a call. */
const writeInterval = 100;
/** Milliseconds until the lease is looked at again. */
const leaseInterval = 100;
/** Milliseconds; a longer timer of Node would overflow. */
const maxTimer = 60_000;

/** After them the holder looks whether the one in whose name the run calls is gone: to resume is to judge again. */
const judging: ReadonlySet<string | undefined> = new Set<(RunCommand | RunEvent)['kind']>(['people-changed', 'resume']);

/** Executes one run while this gateway holds it: applies events, writes the state, and begins what the run waits for. */
export class RunExecutor {
  readonly #options: RunExecutorOptions;
  readonly #secrets: RunSecrets;
  readonly #outbox: RunOutbox;
  readonly #children: RunChildren;
  readonly #work: RunWork;
  readonly #faults: RunFaults;
  /** The store lost commits while the run was under way, and people have not released it: nothing of it begins. */
  readonly #isHeld: boolean;
  /** The run may have made its next call before the store lost commits, as far as people did not find out. */
  #isDoubtful: boolean;
  #state: RunState;
  /** The state that the store has. */
  #saved: RunState | undefined;
  /** When the state began to differ from that of the store: milliseconds of the monotonic clock. */
  #changedAt: number;
  readonly #arrivals: Arrival[] = [];
  readonly #unsaved: UnsavedOutcomes;
  readonly #begun: BegunInStore;
  #commandsMayWait = true;
  /** Numbers of commands that were read, and are not consumed in the store. */
  readonly #queued = new Set<number>();
  readonly #wakeup = new Wakeup();
  #mode: 'work' | 'drain' | 'abort' | 'lost' = 'work';
  readonly #place: RunSlot;

  constructor(options: RunExecutorOptions) {
    const { run, workflow, tools, holds, passwords } = options;
    this.#options = options;
    this.#faults = new RunFaults(options.faulted);
    this.#secrets = tools.secrets.ofRun({ seed: run.seed, workflow: workflow.id, names: workflow.secrets, passwords });
    this.#work = new RunWork({
      run,
      trace: traceOfRun(run.id),
      tools,
      secrets: this.#secrets,
      holds,
      wasSuspended: () => this.#state.stoppedFor > 0,
      isDoubtful: () => this.#isDoubtful,
      arrived: (event) => void this.#arrivals.push({ event }),
      called: (activity, args) => this.#outbox.called(activity, args),
      wake: () => this.#wakeup.rouse(),
      faults: this.#faults,
    });
    this.#unsaved = new UnsavedOutcomes(run.id, options.journal);
    this.#saved = run.state && readState(run.state.text, run.state.values);
    this.#state = this.#saved ?? begin({ ...run, at: run.createdAt, runtime: tools.runtime });
    // The store has to learn that they are no longer unbegun, before one of them begins.
    if (this.#state.unbegun !== undefined) this.#state = { ...this.#state, unbegun: undefined };
    const keeper = createKeeper(options, this.#secrets, this.#state);
    this.#outbox = createOutbox(run, workflow, this.#state.counted, this.#secrets.hide, keeper);
    this.#children = new RunChildren(run.id, this.#outbox);
    this.#place = new RunSlot(tools, options.isCrowded);
    this.#changedAt = tools.clock.monotonic();
    this.#isHeld = run.loss === 'held';
    this.#isDoubtful = run.loss === 'doubtful';
    const arrived = (event: RunEvent): void => this.#arrive(event);
    this.#begun = new BegunInStore({ run, tools, outbox: this.#outbox, children: this.#children, faults: this.#faults, arrived });
    if (this.#saved !== undefined) this.#inherit(this.#saved);
    this.#suspendIfGone();
  }

  #suspendIfHeld(): void {
    if (!this.#isHeld || this.#state.suspension !== undefined || this.#state.endedAt !== undefined) return;
    this.#arrive({ kind: 'suspend', at: this.#now(), by: 'store-loss' });
    this.#applyArrivals();
  }

  /** A run in the name of a principal that is gone must not go on. */
  #suspendIfGone(): void {
    const gone = this.#options.tools.people.whyGone(this.#options.run.principal);
    if (gone !== undefined && this.#state.suspension === undefined)
      this.#arrive({ kind: 'suspend', at: this.#now(), by: gone.by });
  }

  /** Resolves once this gateway no longer holds the run. */
  async execute(): Promise<void> {
    try {
      for (;;) {
        const end = await this.#round();
        if (end === 'lost') await this.#handOver();
        if (end !== undefined) return;
      }
    } finally {
      this.#work.abort();
    }
  }

  /** Commands for the run, or messages, may have come. */
  wake(): void {
    this.#commandsMayWait = true;
    this.#work.lookAgain();
    this.#wakeup.rouse();
  }

  /** Begins nothing more, and lets go of the run once no call is in flight. */
  drain(): void {
    if (this.#mode === 'work') this.#mode = 'drain';
    this.#wakeup.rouse();
  }

  /** Aborts the calls in flight, and lets go of the run. */
  abort(): void {
    this.#mode = 'abort';
    this.#work.abort();
    this.#wakeup.rouse();
  }

  /** Another gateway has the run: begins and writes nothing more. What is in flight goes on. */
  lose(): void {
    if (this.#mode !== 'abort') this.#mode = 'lost';
    this.#wakeup.rouse();
  }

  /** The calls in flight end here, and the gateway that has the run learns of their outcomes. */
  async #handOver(): Promise<void> {
    this.#work.lose();
    for (;;) {
      this.#wakeup.begin();
      for (const { event } of this.#arrivals.splice(0))
        if (event !== undefined) this.#unsaved.add(withoutPlaceholders(event, this.#secrets));
      await this.#unsaved.tell(() => this.#mode === 'abort');
      if (!this.#work.hasCall && this.#arrivals.length === 0) return;
      await this.#wakeup.wait(maxTimer);
    }
  }

  /** The store has what the state had begun. A task at which gateways died too often fails. */
  #inherit({ unbegun = [], suspension }: RunState): void {
    for (const effect of this.#effects()) {
      if (unbegun.includes(effect.key)) continue;
      this.#begun.inherit(effect);
      if (!isWorked(effect)) continue;
      this.#work.inherit(effect);
      const end = endAbandoned(effect, this.#options.run.abandonedClaims, this.#now());
      if (end !== undefined) this.#arrive(end);
    }
    if (!this.#isHeld && suspension?.by === 'store-loss') this.#arrive({ kind: 'resume', at: this.#now() });
  }

  /** How the holder let go of the run. */
  async #round(): Promise<'ended' | 'released' | 'lost' | undefined> {
    if (this.#mode === 'lost') return 'lost';
    this.#wakeup.begin();
    await this.#takeCommands();
    this.#applyArrivals();
    this.#suspendIfHeld();
    const effects = this.#effects();
    await this.#prepare(effects);
    if (this.#state.endedAt !== undefined) return (await this.#write(undefined)) === 'lost' ? 'lost' : 'ended';
    const starting = this.#isHeld ? [] : effects.filter(isWorked).filter((effect) => this.#work.isNew(effect));
    const release = this.#releaseOf(effects, starting);
    if (release !== undefined) return (await this.#write(release)) === 'lost' ? 'lost' : 'released';
    if (this.#mustWrite(starting) && (await this.#writeWith(starting)) === 'lost') return 'lost';
    // What came meanwhile may cancel what would begin now.
    if (this.#hasNews()) await nextIteration();
    else await this.#goOn(effects, starting);
    return undefined;
  }

  #effects(): readonly Effect[] {
    return pending(this.#options.workflow, this.#state);
  }

  #now(): number {
    return this.#options.tools.clock.now();
  }

  #arrive(event: RunEvent): void {
    this.#arrivals.push({ event });
  }

  #hasNews(): boolean {
    return this.#arrivals.length > 0 || this.#commandsMayWait || this.#begun.waitsForWrite;
  }

  async #takeCommands(): Promise<void> {
    if (!this.#commandsMayWait) return;
    this.#commandsMayWait = false;
    const { journal, run } = this.#options;
    for (const command of await commandsUnlessAway(journal, run.id)) {
      if (this.#queued.has(command.number)) continue;
      this.#queued.add(command.number);
      this.#arrivals.push({ command });
    }
  }

  #applyArrivals(): void {
    for (let next = this.#arrivals.shift(); next !== undefined; next = this.#arrivals.shift()) {
      const command = next.command?.command;
      const event = next.event ?? eventOfCommand(next.command, { ...this.#options, at: this.#now(), effects: this.#effects() });
      if (next.command !== undefined) this.#take(next.command);
      if (event !== undefined) this.#apply(event, command);
      if (judging.has(command?.kind ?? event?.kind)) this.#suspendIfGone();
    }
  }

  #take({ number, command }: QueuedCommand): void {
    this.#outbox.consumed(number);
    if (command.kind === 'items-changed') this.#begun.look();
    if (command.kind === 'approval-decided') this.#work.lookAgain();
    noteDecision(this.#outbox, command);
    // What one branch did not do says nothing of the others.
    if (!this.#isDoubtful || !saysNotMade(command) || hasOpenFork(this.#options.workflow, this.#state)) return;
    this.#isDoubtful = false;
    this.#outbox.settled();
  }

  #apply(given: RunEvent, command: RunCommand | undefined): void {
    const event = withoutPlaceholders(given, this.#secrets);
    const { run, workflow } = this.#options;
    const unknown = event.kind === 'cancel' && mayChange(this.#work.effects) ? cancelledInFlight : undefined;
    const again = (): void => this.#arrive(event);
    const { state, notes } = stepOrFault(event, { workflow, state: this.#state, faults: this.#faults, again });
    this.#note(notes);
    if (state === this.#state) return;
    this.#unsaved.add(event);
    if (this.#state === this.#saved) this.#changedAt = this.#options.tools.clock.monotonic();
    noteCommand(this.#outbox, { event, command, notes });
    if (command !== undefined) this.#children.inherit(command);
    const ends = state.endedAt !== undefined && this.#state.endedAt === undefined;
    this.#state = state;
    if (ends) for (const { run: parent, command } of endForParent(run, state, unknown)) this.#outbox.command(parent, command);
  }

  #note(notes: readonly Note[]): void {
    this.#outbox.notes(notes);
    if (notes.some((note) => 'error' in note && isCut(note.error?.detail))) this.#options.tools.limitReached('error-text');
  }

  /** Aborts what the run no longer waits for, and puts into the next write what the store is to begin. */
  async #prepare(effects: readonly Effect[]): Promise<void> {
    const byKey = new Map(effects.map((effect) => [effect.key, effect]));
    this.#work.keepOnly(byKey);
    this.#faults.keepOnly(byKey);
    this.#begun.keepOnly(byKey);
    await this.#children.commandAll(this.#options.tools);
    await this.#begun.begin(effects, this.#state.suspension !== undefined);
  }

  /** Where nothing is in flight and nothing can begin: how the store is to keep the run. */
  #releaseOf(effects: readonly Effect[], starting: readonly WorkedEffect[]): RunRelease | undefined {
    const { scanned, hasCall, later, unbegun } = this.#work;
    // A `listen` may not have looked yet: all of them look at all messages again.
    if (this.#mode !== 'work' || this.#place.look()) {
      if (hasCall || this.#arrivals.length > 0) return undefined;
      return { wakeAt: this.#mode === 'work' ? this.#now() : 0, scanned: undefined, unbegun };
    }
    const isBusy = this.#work.effects.length > 0 || starting.length > 0 || this.#hasNews();
    return isBusy ? undefined : this.#place.restOf(effects, { scanned: this.#isHeld ? undefined : scanned, unbegun, later });
  }

  /** The store has the state before a call begins, and whenever the run waits for something outside of it. */
  #mustWrite(starting: readonly WorkedEffect[]): boolean {
    if (this.#state === this.#saved && this.#outbox.isEmpty) return false;
    const { run, tools } = this.#options;
    const isOutside = ({ kind }: WorkedEffect): boolean => kind === 'call' || kind === 'listen';
    const work = [...starting, ...this.#work.effects];
    // Where time alone lets the run go on at once, there is nothing to keep yet.
    const isDue = (effect: Effect): boolean => effect.kind === 'timer' && effect.at <= this.#now();
    if (work.length === 0) return !(this.#outbox.isEmpty && this.#effects().some(isDue));
    if (starting.some(isOutside) || work.every(isOutside) || this.#begun.waitsForWrite) return true;
    return tools.clock.monotonic() - this.#changedAt >= writeInterval || run.abandonedClaims > 0;
  }

  /** Where one call is all that begins, the write waits until the call goes on record, so that both are one transaction. */
  async #writeWith(starting: readonly WorkedEffect[]): Promise<'saved' | 'lost'> {
    const [call, ...others] = starting;
    if (call?.kind !== 'call' || others.length > 0 || !this.#mayBegin(call)) return await this.#write(undefined);
    const wait = (wanted: Promise<void>): Promise<void> => this.#wakeup.wait(writeInterval, wanted);
    return await this.#work.beginWith(call, { wait, write: () => this.#write(undefined) });
  }

  /** A call that an earlier holder may have begun, or that asks people, begins once the store has the state. */
  #mayBegin({ function: name, abort }: CallEffect): boolean {
    const { run, holds } = this.#options;
    const isWorking = this.#mode === 'work' && !this.#place.isOver && holds() && !this.#hasNews();
    return isWorking && !abort && name !== 'approval' && run.abandonedClaims === 0 && !this.#isDoubtful;
  }

  /** Tries until the store takes the write, or another holder has the run. */
  async #write(release: RunRelease | undefined): Promise<'saved' | 'lost'> {
    const { run, journal, tools, workflow } = this.#options;
    const state = this.#state;
    const write = this.#outbox.take(state, release, run.item !== undefined && undecidedCalls(workflow, state).length > 0);
    if (write.notStored !== undefined) tools.limitReached('timeline');
    const isOver = (): boolean => this.#mode === 'lost' || this.#mode === 'abort';
    const outcome = await untilStored(() => journal.save(write), isOver);
    if (outcome !== 'saved') return 'lost';
    this.#saved = state;
    this.#unsaved.saved();
    for (const number of write.consumed) this.#queued.delete(number);
    return outcome;
  }

  async #goOn(effects: readonly Effect[], starting: readonly WorkedEffect[]): Promise<void> {
    const isWorking = this.#mode === 'work' && !this.#place.isOver;
    const holds = this.#options.holds();
    if (isWorking && holds) for (const effect of starting.filter((one) => this.#work.isNew(one))) this.#work.begin(effect);
    const timer = isWorking ? effects.find((effect) => effect.kind === 'timer') : undefined;
    const wait = timer === undefined ? maxTimer : timer.at - this.#now();
    if (wait <= 0) {
      this.#arrive({ kind: 'timePassed', at: this.#now() });
      await nextIteration();
      return;
    }
    // What woke the run while it was written, or while the work began, is not missed.
    const until = Math.min(wait, this.#work.later - this.#now(), holds ? maxTimer : leaseInterval);
    await this.#wakeup.wait(this.#hasNews() ? 0 : until);
  }
}
