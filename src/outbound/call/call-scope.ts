import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError, type GatewayErrorOptions } from '#base/gateway-error.ts';
import type { AttemptWatcher } from './outbound-call.ts';

/** One call, from its arrival to the last byte of its reply. Aborted when its total time limit passes, its caller leaves, or the gateway stops. */
export class CallScope {
  readonly attempts: AttemptWatcher | undefined;
  readonly #clock: Clock;
  readonly #expiresAt: number;
  readonly #timer: NodeJS.Timeout;
  #aborted: Error | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #onEnd: (() => void) | undefined;
  #ended = false;
  #mayChange = false;
  #callerDetached = false;
  #callerHasLeft = false;
  readonly #sendings: Sending[] = [];

  /** `total`: milliseconds. `setBy`: what set the limit, for its error. */
  constructor(options: {
    readonly total: number;
    readonly setBy?: string | undefined;
    readonly clock: Clock;
    readonly attempts?: AttemptWatcher | undefined;
  }) {
    this.attempts = options.attempts;
    this.#clock = options.clock;
    this.#expiresAt = options.clock.monotonic() + options.total;
    this.#timer = setTimeout(() => {
      this.abort(timedOut('total', options.total, options.setBy));
    }, options.total);
  }

  /** Milliseconds left, at least 0. */
  remaining(): number {
    return Math.max(0, this.#expiresAt - this.#clock.monotonic());
  }

  /** The call is on record: a state-changing request may be sent. */
  permitChange(): void {
    this.#mayChange = true;
  }

  get mayChange(): boolean {
    return this.#mayChange;
  }

  sends(sending: Sending): void {
    this.#sendings.push(sending);
  }

  /** Bytes count bodies; those of replies count decoded. */
  get traffic(): Traffic {
    const traffic = { attempts: this.#sendings.length, left: false, bytesSent: 0, bytesReceived: 0 };
    for (const sending of this.#sendings) {
      if (!sending.left) continue;
      traffic.left = true;
      traffic.bytesSent += sending.bodyLength;
      traffic.bytesReceived += sending.received;
    }
    return traffic;
  }

  get aborted(): Error | undefined {
    return this.#aborted;
  }

  /** Called at once after an abort. One at a time, since a call has one piece of work under way. Undefined removes it. */
  whenAborted(abort: ((reason: Error) => void) | undefined): void {
    this.#abort = abort;
    if (abort !== undefined && this.#aborted !== undefined) abort(this.#aborted);
  }

  /** Only the first reason counts. */
  abort(reason: Error): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = reason;
    clearTimeout(this.#timer);
    this.#abort?.(reason);
  }

  /** Called at once if the call has ended. */
  whenEnded(release: () => void): void {
    if (this.#ended) release();
    else this.#onEnd = release;
  }

  /** The call goes on if its caller leaves, until `attachCaller`. */
  detachCaller(): void {
    this.#callerDetached = true;
  }

  /** Aborts and ends the call if its caller left meanwhile. */
  attachCaller(): void {
    this.#callerDetached = false;
    if (this.#callerHasLeft) this.callerLeft();
  }

  /** Waits for `attachCaller` where the caller is detached. */
  callerLeft(): void {
    this.#callerHasLeft = true;
    if (this.#callerDetached) return;
    this.abort(new CallerLeft());
    this.end();
  }

  /** For the owner of the scope, after the last byte of the reply. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#abort = undefined;
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

export interface Sending {
  /** A byte may have left. */
  readonly left: boolean;
  readonly bodyLength: number;
  readonly received: number;
}

export interface Traffic {
  readonly attempts: number;
  readonly left: boolean;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

type TimeLimit = 'connect' | keyof typeof limitMeaning;

const limitMeaning = {
  dns: 'the look-up of its name',
  firstByte: 'the first byte of its reply',
  idle: 'the next part of its reply',
  total: 'the whole reply',
} as const;

/** 504 with the phase and the limit. */
export class TimeLimitPassed extends GatewayError {
  readonly limit: TimeLimit;
  readonly milliseconds: number;

  constructor(limit: TimeLimit, milliseconds: number, detail: string, options?: GatewayErrorOptions) {
    super('upstream-timeout', detail, options);
    this.limit = limit;
    this.milliseconds = milliseconds;
  }
}

export function timedOut(limit: keyof typeof limitMeaning, milliseconds: number, setBy = `timeouts.${limit}`): TimeLimitPassed {
  return new TimeLimitPassed(
    limit,
    milliseconds,
    `The upstream took longer than ${milliseconds} ms for ${limitMeaning[limit]} (phase ${limit}; time limit ${setBy}).`,
  );
}

/** Rejects with the scope's reason where the scope is aborted first; the work goes on then. Uses `whenAborted`. */
export async function untilAborted<T>(scope: CallScope, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  scope.whenAborted(reject);
  try {
    return await Promise.race([work, promise]);
  } finally {
    scope.whenAborted(undefined);
  }
}

/** Rejects with the scope's reason where the scope is aborted first. */
export async function pause(scope: CallScope, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await untilAborted(scope, promise);
  } finally {
    clearTimeout(timer);
  }
}
