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
  /** Undefined: the call may leave. Waits while a probe decides. Throws or rejects with `credentials-refused`. */
  admit(scope: CallScope): Promise<void> | undefined;
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
export const noGuard: RefusalGuard = { admit: () => undefined, answered() {}, takeProbe: () => true, probed() {} };

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

  constructor(needs: GuardNeeds) {
    this.#needs = needs;
    this.#basis = needs.credentials.basis();
  }

  admit(scope: CallScope): Promise<void> | undefined {
    if (this.#deciding !== undefined) return untilAborted(scope, this.#deciding).then(() => this.admit(scope));
    const state = this.#refused();
    if (state === undefined) return undefined;
    const { name, credentials, clock } = this.#needs;
    if (this.takeProbe()) void state.probe();
    const seconds = Math.max(1, Math.ceil(((this.#state?.probeAt ?? 0) - clock.monotonic()) / 1_000));
    throw new GatewayError(
      'credentials-refused',
      `The orchestrator of the adapter instance "${name}" refuses its credentials (auth: ${credentials.type}), and a probe was refused too. The gateway sends nothing with them until they change or a probe succeeds, so that no account is locked. Nothing was sent.`,
      { headers: { 'Retry-After': String(seconds) } },
    );
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
