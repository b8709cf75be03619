import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, untilAborted } from '#outbound/call/call-scope.ts';
import type { Credentials } from './credentials.ts';

/** Consecutive 401 to the newest credentials until a probe decides. */
const enough = 2;
/** Milliseconds between two probes with refused credentials. The first one is twice the interval of health probes, each later one twice as long. */
const waits = { withoutInterval: 60_000, longest: 1_800_000 } as const;

/** Keeps the gateway from sending refused credentials again and again: directories lock accounts. One for all nodes of an adapter instance. */
export interface RefusalGuard {
  /**
   * Answers what to call once the call has ended. Waits while a probe decides, and for a moment while another call tries credentials that
   * were just refused. Throws or rejects with `credentials-refused`.
   */
  admit(scope: CallScope): Promise<() => void> | (() => void);
  /** `isRefused`: 401 to the newest credentials. `probe` calls `probed`, and never rejects. */
  answered(status: number, isRefused: boolean, probe: Probe): void;
  /** False while refused credentials wait for the next probe. True counts as one. */
  takeProbe(): boolean;
  probed(isRefused: boolean, probe: Probe): void;
}

type Probe = () => Promise<void>;

interface GuardNeeds {
  /** For errors. */
  readonly name: string;
  readonly credentials: Pick<Credentials, 'type' | 'basis'>;
  readonly health: { readonly interval: number } | 'off';
  readonly clock: Clock;
}

export function createRefusalGuard(needs: GuardNeeds): RefusalGuard {
  const { type } = needs.credentials;
  return type === 'none' || type === 'caller' ? noGuard : new Guard(needs);
}

/** For calls that are no matter of the credentials of the gateway. */
export const noGuard: RefusalGuard = { admit: () => nothing, answered() {}, takeProbe: () => true, probed() {} };

const nothing = (): void => {};

/** Milliseconds that other calls wait for the answer to a trial. An orchestrator refuses credentials at once. */
const trialWait = 2_000;

interface Refused {
  readonly probe: Probe;
  readonly wait: number;
  /** Of the monotonic clock. */
  readonly probeAt: number;
}

class Guard implements RefusalGuard {
  readonly #needs: GuardNeeds;
  /** To these credentials. */
  #basis: string;
  #count = 0;
  #deciding: Promise<void> | undefined;
  #state: Refused | undefined;
  /** Of the one call that tries credentials after a 401. Resolves at its end, or after a moment. */
  #trial: Promise<void> | undefined;

  constructor(needs: GuardNeeds) {
    this.#needs = needs;
    this.#basis = needs.credentials.basis();
  }

  admit(scope: CallScope): Promise<() => void> | (() => void) {
    const awaited = this.#deciding ?? this.#trial;
    if (awaited !== undefined) return untilAborted(scope, awaited).then(() => this.admit(scope));
    const state = this.#refused();
    if (state === undefined) return this.#count === 0 ? nothing : this.#try();
    const { name, credentials, clock } = this.#needs;
    if (this.takeProbe()) void state.probe();
    const seconds = Math.max(1, Math.ceil(((this.#state?.probeAt ?? 0) - clock.monotonic()) / 1_000));
    throw new GatewayError(
      'credentials-refused',
      `The orchestrator of the adapter instance "${name}" refuses its credentials (auth: ${credentials.type}), and a probe was refused too. The gateway sends nothing with them until they change or a probe succeeds, so that no account is locked. Nothing was sent.`,
      { headers: { 'Retry-After': String(seconds) } },
    );
  }

  #try(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, trialWait);
    const trial = promise.finally(() => {
      clearTimeout(timer);
      if (this.#trial === trial) this.#trial = undefined;
    });
    this.#trial = trial;
    return resolve;
  }

  answered(status: number, isRefused: boolean, probe: Probe): void {
    if (status !== 401) this.#accept();
    if (!isRefused) return;
    this.#renew();
    this.#count += 1;
    if (this.#count < enough || this.#deciding !== undefined || this.#state !== undefined) return;
    this.#deciding = probe().finally(() => {
      this.#deciding = undefined;
    });
  }

  #accept(): void {
    this.#count = 0;
    this.#state = undefined;
  }

  takeProbe(): boolean {
    const state = this.#refused();
    if (state === undefined) return true;
    const now = this.#needs.clock.monotonic();
    if (now < state.probeAt) return false;
    this.#state = { ...state, probeAt: now + state.wait };
    return true;
  }

  probed(isRefused: boolean, probe: Probe): void {
    if (!isRefused) return this.#accept();
    this.#renew();
    this.#count += 1;
    if (this.#count < enough) return;
    const { health, clock } = this.#needs;
    const first = health === 'off' ? waits.withoutInterval : 2 * health.interval;
    const wait = Math.min(this.#state === undefined ? first : 2 * this.#state.wait, waits.longest);
    this.#state = { probe, wait, probeAt: clock.monotonic() + wait };
  }

  #refused(): Refused | undefined {
    this.#renew();
    return this.#state;
  }

  /** Other credentials begin without refusals. */
  #renew(): void {
    const basis = this.#needs.credentials.basis();
    if (basis === this.#basis) return;
    this.#basis = basis;
    this.#accept();
  }
}
