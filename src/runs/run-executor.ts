import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { isCut } from '#base/cut-text.ts';
import { isPassingRefusal } from '#base/passing-refusal.ts';
import type { Workflow } from '#workflows/workflow.ts';
import { beginInStore } from './begin-in-store.ts';
import { cancelledInFlight, endForParent, mayChange } from './child-runs.ts';
import { HeldPlace, shortWait } from './held-place.ts';
import type { Effect } from './interpreter/effects.ts';
import type { Note } from './interpreter/notes.ts';
import { pending } from './interpreter/pending.ts';
import type { RunEvent } from './interpreter/run-events.ts';
import type { RunState } from './interpreter/run-state.ts';
import { readState } from './interpreter/state-text.ts';
import { begin } from './interpreter/step.ts';
import type { EffectError } from './interpreter/task-error.ts';
import { gatewaysEnded, mostDeaths, unknownAfter } from './lost-run.ts';
import { RunChildren } from './run-children.ts';
import { eventOfCommand, joinedBy } from './run-commands.ts';
import { isWorked, type WorkedEffect } from './run-effects.ts';
import { RunFaults, stepOrFault } from './run-faults.ts';
import type { RunJournal } from './run-journal.ts';
import { createOutbox, type RunOutbox } from './run-outbox.ts';
import { withoutPlaceholders } from './run-placeholders.ts';
import type { ClaimedRun, QueuedCommand, RunCommand, RunRelease } from './run-records.ts';
import type { RunTools } from './run-tools.ts';
import { traceOfRun } from './run-trace.ts';
import { RunWork } from './run-work.ts';
import type { RunSecrets } from './tasks/run-secrets.ts';

/** How a holder let go of a run. */
type RunEnd = 'ended' | 'released' | 'lost';

interface RunExecutorOptions {
  readonly run: ClaimedRun;
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

/** Milliseconds between two writes of a run that only computes. */
const writeInterval = 100;
/** Milliseconds until the lease is looked at again. */
const leaseInterval = 100;
/** Milliseconds; a longer timer of Node would overflow. */
const longestTimer = 60_000;

/** After them the holder looks whether the one in whose name the run calls is gone: to resume is to judge again. */
const judging: ReadonlySet<RunCommand['kind']> = new Set<RunCommand['kind']>(['people-changed', 'resume']);

/** What happened, or a command, which becomes an event once it is known what the run waits for. */
type Arrival = { readonly event: RunEvent } | { readonly command: QueuedCommand };

/** Executes one run while this gateway holds it: applies events, writes the state, and begins what the run waits for. */
export class RunExecutor {
  readonly #options: RunExecutorOptions;
  readonly #secrets: RunSecrets;
  readonly #outbox: RunOutbox;
  readonly #children: RunChildren;
  readonly #work: RunWork;
  readonly #faults: RunFaults;
  #state: RunState;
  /** The state that the store has. */
  #saved: RunState | undefined;
  #savedAt: number;
  readonly #arrivals: Arrival[] = [];
  /** Children and messages that the store has, or gets with the next write. */
  readonly #begun = new Map<string, Effect>();
  #commandsMayWait = true;
  /** Numbers of commands that were read, and are not consumed in the store. */
  readonly #queued = new Set<number>();
  #wake: () => void = () => {};
  /** Something woke the run since its round began. */
  #roused = false;
  #mode: 'work' | 'drain' | 'abort' | 'lost' = 'work';
  readonly #place: HeldPlace;

  constructor(options: RunExecutorOptions) {
    const { run, workflow, tools, holds } = options;
    this.#options = options;
    this.#faults = new RunFaults(options.faulted);
    this.#secrets = tools.secrets.ofRun({ seed: run.seed, workflow: workflow.id, names: workflow.secrets });
    this.#work = new RunWork({
      run,
      trace: traceOfRun(run.id),
      tools,
      secrets: this.#secrets,
      holds,
      wasSuspended: () => this.#state.stoppedFor > 0,
      arrived: (event) => void this.#arrivals.push({ event }),
      wake: () => this.#rouse(),
      faults: this.#faults,
    });
    const { id, seed, input, createdAt: at, state } = run;
    this.#saved = state === undefined ? undefined : readState(state.text, state.values);
    this.#state = this.#saved ?? begin({ id, seed, input, at, runtime: tools.runtime });
    this.#outbox = createOutbox(run, workflow, this.#state.counted, this.#secrets.hide);
    this.#children = new RunChildren(run.id, this.#outbox);
    this.#place = new HeldPlace(tools, options.isCrowded);
    this.#savedAt = tools.clock.monotonic();
    if (this.#saved !== undefined) for (const effect of this.#effects()) this.#inherit(effect);
    this.#suspendIfGone();
  }

  /** A run in the name of a principal that is gone must not go on. */
  #suspendIfGone(): void {
    const { run, tools } = this.#options;
    const gone = tools.people.whyGone(run.principal);
    if (gone !== undefined && this.#state.suspension === undefined)
      this.#arrive({ kind: 'suspend', at: this.#now(), by: gone.by });
  }

  /** Resolves once this gateway no longer holds the run. */
  async execute(): Promise<RunEnd> {
    try {
      for (;;) {
        const end = await this.#round();
        if (end !== undefined) return end;
      }
    } finally {
      this.#work.abort();
    }
  }

  /** Commands for the run, or messages, may have come. */
  wake(): void {
    this.#commandsMayWait = true;
    this.#work.lookAgain();
    this.#rouse();
  }

  /** Begins nothing more, and lets go of the run once no call is in flight. */
  drain(): void {
    if (this.#mode === 'work') this.#mode = 'drain';
    this.#rouse();
  }

  /** Aborts the calls in flight, and lets go of the run. */
  abort(): void {
    if (this.#mode !== 'lost') this.#mode = 'abort';
    this.#work.abort();
    this.#rouse();
  }

  /** The lease is lost: writes nothing more. */
  lose(): void {
    this.#mode = 'lost';
    this.#work.abort();
    this.#rouse();
  }

  /** The store has what the state had begun. A task at which gateways died too often fails. */
  #inherit(effect: Effect): void {
    if (effect.kind === 'child' || effect.kind === 'publish') {
      this.#begun.set(effect.key, effect);
      if (effect.kind === 'publish') this.#arrive({ kind: 'published', at: this.#now(), key: effect.key });
    }
    if (!isWorked(effect)) return;
    this.#work.inherit(effect);
    const { deaths } = this.#options.run;
    if (effect.kind === 'listen' || deaths < mostDeaths) return;
    const error = gatewaysEnded(deaths);
    // The action may have happened: an error that a `retry` takes would make it again.
    if (mayChange([effect])) this.#arrive({ kind: 'callEnded', at: this.#now(), key: effect.key, result: unknownAfter(error) });
    else this.#fail(effect, error);
  }

  async #round(): Promise<RunEnd | undefined> {
    if (this.#mode === 'lost') return 'lost';
    this.#roused = false;
    await this.#takeCommands();
    this.#applyArrivals();
    const effects = this.#effects();
    await this.#prepare(effects);
    if (this.#state.endedAt !== undefined) return (await this.#write(undefined)) === 'lost' ? 'lost' : 'ended';
    const starting = effects.filter((effect): effect is WorkedEffect => isWorked(effect) && this.#work.isNew(effect));
    const release = this.#releaseOf(effects, starting);
    if (release !== undefined) return (await this.#write(release)) === 'lost' ? 'lost' : 'released';
    if (this.#mustWrite(starting) && (await this.#write(undefined)) === 'lost') return 'lost';
    // What came meanwhile may cancel what would begin now.
    if (this.#hasNews()) await nextIteration();
    else await this.#goOn(effects, starting);
    return undefined;
  }

  /** Ends the wait of the round, also of one that does not wait yet. */
  #rouse(): void {
    this.#roused = true;
    this.#wake();
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

  #fail({ key }: Effect, error: EffectError): void {
    this.#arrive({ kind: 'failed', at: this.#now(), key, error });
  }

  /** A timer of the run has passed. */
  #isDue(): boolean {
    return this.#effects().some((effect) => effect.kind === 'timer' && effect.at <= this.#now());
  }

  #hasNews(): boolean {
    return this.#arrivals.length > 0 || this.#commandsMayWait;
  }

  async #takeCommands(): Promise<void> {
    if (!this.#commandsMayWait) return;
    this.#commandsMayWait = false;
    const { journal, run } = this.#options;
    try {
      for (const command of await journal.commandsOf([run.id])) {
        if (this.#queued.has(command.number)) continue;
        this.#queued.add(command.number);
        this.#arrivals.push({ command });
      }
    } catch (error) {
      // The store is away, as its own log says. The next renewal of the lease tells that commands wait.
      if (!isPassingRefusal(error)) throw error;
    }
  }

  #applyArrivals(): void {
    for (let next = this.#arrivals.shift(); next !== undefined; next = this.#arrivals.shift()) {
      const event = 'event' in next ? next.event : eventOfCommand(next.command, { at: this.#now(), effects: this.#effects() });
      if ('command' in next) {
        this.#outbox.consumed(next.command.number);
        if (next.command.command.kind === 'approval-decided') this.#work.lookAgain();
      }
      if (event !== undefined) this.#apply(event, next);
      if ('command' in next && judging.has(next.command.command.kind)) this.#suspendIfGone();
    }
  }

  #apply(given: RunEvent, arrival: Arrival): void {
    const event = withoutPlaceholders(given, this.#secrets);
    const { run, workflow } = this.#options;
    const unknown = event.kind === 'cancel' && mayChange(this.#work.effects) ? cancelledInFlight : undefined;
    const again = (): void => this.#arrive(event);
    const { state, notes } = stepOrFault(event, { workflow, state: this.#state, faults: this.#faults, again });
    this.#note(notes);
    if (state === this.#state) return;
    const command = 'command' in arrival ? arrival.command.command : undefined;
    for (const person of joinedBy(event, command)) this.#outbox.person(person);
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
    this.#forgetBegun(byKey);
    await this.#children.commandAll(this.#options.tools);
    for (const effect of effects) {
      if (this.#begun.has(effect.key) || (effect.kind !== 'publish' && effect.kind !== 'child')) continue;
      const { run, tools } = this.#options;
      const work = () => beginInStore(effect, { run, tools, outbox: this.#outbox, children: this.#children });
      const next = await this.#faults.attempt(effect, { work, now: () => this.#now() });
      if (next !== undefined) this.#arrive(next);
      this.#begun.set(effect.key, effect);
    }
  }

  /** Cancels children that the run no longer waits for, or whose time limit passed. */
  #forgetBegun(effects: ReadonlyMap<string, Effect>): void {
    for (const [key, effect] of this.#begun) {
      const current = effects.get(key);
      const isOver = current === undefined || (current.kind === 'child' && current.abort);
      if (effect.kind === 'child' && isOver) this.#children.abandon(effect);
      if (current === undefined) this.#begun.delete(key);
    }
  }

  /** Where nothing is in flight and nothing can begin: how the store is to keep the run. */
  #releaseOf(effects: readonly Effect[], starting: readonly WorkedEffect[]): RunRelease | undefined {
    const { scanned, hasCall } = this.#work;
    // A `listen` may not have looked yet: all of them look at all messages again.
    if (this.#mode !== 'work' || this.#place.look()) {
      const wakeAt = this.#mode === 'work' ? this.#now() : 0;
      return hasCall || this.#arrivals.length > 0 ? undefined : { wakeAt, scanned: undefined };
    }
    const isBusy = this.#work.effects.length > 0 || starting.length > 0 || this.#hasNews();
    return isBusy ? undefined : this.#place.restOf(effects, scanned);
  }

  /** The store has the state before a call begins, and whenever the run waits for something outside of it. */
  #mustWrite(starting: readonly WorkedEffect[]): boolean {
    if (this.#state === this.#saved && this.#outbox.isEmpty) return false;
    const { run, tools } = this.#options;
    const isOutside = ({ kind }: WorkedEffect): boolean => kind === 'call' || kind === 'listen';
    const work = [...starting, ...this.#work.effects];
    // Where time alone lets the run go on at once, there is nothing to keep yet.
    if (work.length === 0) return !(this.#outbox.isEmpty && this.#isDue());
    if (starting.some(isOutside) || work.every(isOutside)) return true;
    return tools.clock.monotonic() - this.#savedAt >= writeInterval || run.deaths > 0;
  }

  /** Tries until the store takes the write, or another holder has the run. */
  async #write(release: RunRelease | undefined): Promise<'saved' | 'lost'> {
    const { journal, tools } = this.#options;
    const state = this.#state;
    const write = this.#outbox.take(state, release);
    if (write.notStored !== undefined) tools.limitReached('timeline');
    for (let delay = 50; ; delay = Math.min(delay * 2, shortWait)) {
      try {
        const outcome = await journal.save(write);
        this.#saved = state;
        this.#savedAt = tools.clock.monotonic();
        for (const number of write.consumed) this.#queued.delete(number);
        return outcome;
      } catch (error) {
        // The store is away, as its own log says.
        if (!isPassingRefusal(error)) throw error;
        if (this.#mode === 'lost' || this.#mode === 'abort') return 'lost';
        await sleep(delay);
      }
    }
  }

  get #begins(): boolean {
    return this.#mode === 'work' && !this.#place.isOver;
  }

  async #goOn(effects: readonly Effect[], starting: readonly WorkedEffect[]): Promise<void> {
    const isWorking = this.#begins;
    const holds = this.#options.holds();
    if (isWorking && holds) for (const effect of starting) this.#work.begin(effect);
    const timer = isWorking ? effects.find((effect) => effect.kind === 'timer') : undefined;
    const wait = timer === undefined ? longestTimer : timer.at - this.#now();
    if (wait <= 0) {
      this.#arrive({ kind: 'timePassed', at: this.#now() });
      await nextIteration();
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    // What woke the run while it was written, or while the work began, is not missed.
    const late = setTimeout(resolve, this.#roused || this.#hasNews() ? 0 : Math.min(wait, holds ? longestTimer : leaseInterval));
    await promise;
    clearTimeout(late);
    this.#wake = () => {};
  }
}
