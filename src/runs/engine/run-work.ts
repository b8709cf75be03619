import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { CallEffect, Effect, ListenEffect } from '../interpreter/effects.ts';
import type { RunEvent } from '../interpreter/state/run-events.ts';
import type { ClaimedRun } from '../journal/run-records.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';
import { shortWait } from '../tasks/call-entrance.ts';
import { scanMessages, type WorkedEffect, workOn } from './run-effects.ts';
import type { RunFaults } from './run-faults.ts';
import type { RunTools } from './run-tools.ts';
import { isPassingRefusal } from './until-stored.ts';

interface RunWorkOptions {
  readonly run: ClaimedRun;
  readonly trace: TraceContext;
  readonly tools: RunTools;
  readonly secrets: RunSecrets;
  /** False: the lease may have ended. */
  readonly holds: () => boolean;
  /** The run was suspended at some time. */
  readonly wasSuspended: () => boolean;
  /** The store lost commits: a call that may change something is made only where people say so. */
  readonly isDoubtful: () => boolean;
  /** Takes the event that answers an effect. */
  readonly arrived: (event: RunEvent) => void;
  /** Takes the arguments of a call. */
  readonly called: (activity: number, args: string) => void;
  /** Called when a piece of work ended without an event. */
  readonly wake: () => void;
  readonly faults: RunFaults;
}

/** Milliseconds before work begins again that was refused for now, or on which the gateway failed. */
const shortestPause = 200;

/** What a holder works on for one run: evaluations, calls, and the messages that a `listen` looks at. */
export class RunWork {
  readonly #options: RunWorkOptions;
  readonly #working = new Map<string, { readonly effect: WorkedEffect; readonly controller: AbortController }>();
  /** The last message that each `listen` looked at. */
  readonly #scanned = new Map<string, number>();
  /** Listens for which no message is there yet, and calls that wait for people. */
  readonly #quiet = new Set<string>();
  /** When work begins again that a limit delays: milliseconds since the epoch. */
  readonly #later = new Map<string, number>();
  /** Increases when something may have come that quiet work waits for. */
  #looks = 0;
  /** Aborted once another gateway has the run. */
  readonly #lost = new AbortController();
  /** Effects that an earlier holder may have begun, and calls about which people were asked. */
  readonly #inherited = new Set<string>();

  constructor(options: RunWorkOptions) {
    this.#options = options;
  }

  /**
   * An earlier holder may have begun the effect. A `listen` goes on behind the messages that it looked at.
   */
  inherit(effect: WorkedEffect): void {
    this.#inherited.add(effect.key);
    if (effect.kind === 'listen') this.#scanned.set(effect.key, this.#options.run.scanned);
  }

  get effects(): readonly WorkedEffect[] {
    return [...this.#working.values()].map(({ effect }) => effect);
  }

  get hasCall(): boolean {
    return this.effects.some(({ kind }) => kind === 'call');
  }

  /** Whether the effect is to be begun. */
  isNew({ key }: Effect): boolean {
    const isLater = (this.#later.get(key) ?? 0) > this.#options.tools.clock.now();
    return !this.#working.has(key) && !this.#quiet.has(key) && !isLater;
  }

  /** When the first work that a limit delays begins again; `Infinity` without any. */
  get later(): number {
    return Math.min(...this.#later.values());
  }

  /** Keys of that work, as far as no earlier holder may have begun it. */
  get unbegun(): readonly string[] | undefined {
    const keys = [...this.#later.keys()].filter((key) => !this.#inherited.has(key));
    return keys.length === 0 ? undefined : keys;
  }

  /** `stored`: as in CallContext, where the store has not got the effect yet. */
  begin(effect: WorkedEffect, stored?: () => Promise<boolean>): void {
    const controller = new AbortController();
    this.#later.delete(effect.key);
    this.#working.set(effect.key, { effect, controller });
    if (effect.kind === 'call' && effect.abort) controller.abort();
    void this.#work(effect, controller.signal, stored);
  }

  /** Begins a call. Its state is written when the call goes on record, or once `wait` ends. */
  async beginWith(
    call: CallEffect,
    { wait, write }: { readonly wait: (wanted: Promise<void>) => Promise<void>; readonly write: () => Promise<'saved' | 'lost'> },
  ): Promise<'saved' | 'lost'> {
    const wanted = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<boolean>();
    this.begin(call, () => {
      wanted.resolve();
      return stored.promise;
    });
    await wait(wanted.promise);
    let outcome: 'saved' | 'lost' = 'lost';
    try {
      outcome = await write();
    } finally {
      stored.resolve(outcome === 'saved');
    }
    return outcome;
  }

  /** Aborts what the run no longer waits for. */
  keepOnly(effects: ReadonlyMap<string, Effect>): void {
    for (const [key, { controller }] of this.#working) {
      const effect = effects.get(key);
      if (effect === undefined) this.#working.delete(key);
      if (isAborted(effect)) controller.abort();
    }
    // A time limit passed: the call is begun again, and answers that it was aborted.
    for (const waiting of [this.#quiet, this.#later])
      for (const key of waiting.keys()) if (isAborted(effects.get(key))) waiting.delete(key);
    for (const key of this.#scanned.keys()) {
      if (!effects.has(key)) this.#scanned.delete(key);
    }
  }

  /** Messages may have come, or decisions of people: what waits for them is to be begun again. */
  lookAgain(): void {
    this.#looks += 1;
    this.#quiet.clear();
  }

  /** The message up to which all listens have looked; undefined without a `listen`. */
  get scanned(): number | undefined {
    return this.#scanned.size === 0 ? undefined : Math.min(...this.#scanned.values());
  }

  abort(): void {
    for (const { controller } of this.#working.values()) controller.abort();
  }

  /** What has not left yet does not leave. Calls in flight go on. */
  lose(): void {
    this.#lost.abort();
  }

  async #work(effect: WorkedEffect, signal: AbortSignal, stored?: () => Promise<boolean>): Promise<void> {
    const { run, trace, tools, secrets, holds, wasSuspended, isDoubtful, arrived, called, wake } = this.#options;
    const looks = this.#looks;
    const { signal: lost } = this.#lost;
    const begunAt = this.#inherited.has(effect.key) ? run.savedAt : undefined;
    let mayHaveLeft = begunAt !== undefined;
    const leaving = (): void => void (mayHaveLeft = true);
    try {
      const event =
        effect.kind === 'listen'
          ? await this.#listen(effect, signal)
          : await workOn(
              effect,
              {
                run,
                trace,
                tools,
                secrets,
                holds,
                lost,
                begunAt,
                wasSuspended: wasSuspended(),
                isDoubtful: isDoubtful(),
                leaving,
                stored,
                called,
              },
              signal,
            );
      if (!this.#working.delete(effect.key)) return;
      if (event !== undefined) arrived(event);
      else this.#waits(effect, looks);
    } catch (thrown) {
      await this.#failed(effect, { thrown, mayHaveLeft, wasAborted: thrown === signal.reason });
    }
    wake();
  }

  /** Aborted work, and what the store, the rate limit or the load refused, begins again where the run still waits for it. */
  async #failed(
    effect: WorkedEffect,
    { wasAborted, ...fault }: { readonly thrown: unknown; readonly mayHaveLeft: boolean; readonly wasAborted: boolean },
  ): Promise<void> {
    const { faults, tools, arrived } = this.#options;
    const begins = wasAborted || isPassingRefusal(fault.thrown);
    const end = begins ? undefined : faults.endOf(effect, { ...fault, at: tools.clock.now() });
    const pause = pauseAfter(fault.thrown);
    if (end === undefined && pause <= shortWait) await sleep(pause);
    if (!this.#working.delete(effect.key)) return;
    if (end !== undefined) arrived(end);
    else if (pause > shortWait) this.#later.set(effect.key, tools.clock.now() + pause);
  }

  /** Nothing came for the effect, or people were asked about its call: then its next beginning looks for what they decided. */
  #waits({ kind, key }: WorkedEffect, looks: number): void {
    if (kind === 'call') this.#inherited.add(key);
    if (looks === this.#looks) this.#quiet.add(key);
  }

  async #listen(effect: ListenEffect, signal: AbortSignal): Promise<RunEvent | undefined> {
    const { tools, secrets } = this.#options;
    const { arrived, scanned } = await scanMessages(effect, { tools, secrets, from: this.#scanned.get(effect.key) ?? 0, signal });
    if (this.#working.has(effect.key)) this.#scanned.set(effect.key, scanned);
    return arrived;
  }
}

/** As long as a limit says. */
function pauseAfter(thrown: unknown): number {
  const isLimit = thrown instanceof GatewayError && thrown.code === 'too-many-requests';
  return isLimit ? Math.max(Number(thrown.headers['Retry-After'] ?? 0) * 1_000, shortestPause) : shortestPause;
}

/** The run no longer waits for it, or its time limit passed. */
function isAborted(effect: Effect | undefined): boolean {
  return effect === undefined || (effect.kind === 'call' && effect.abort);
}
