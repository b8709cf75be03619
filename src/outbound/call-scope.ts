import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError, type GatewayErrorOptions } from '#base/gateway-error.ts';
import type { AttemptWatcher } from './attempt.ts';

/**
 * The life of one call, from its arrival to the last byte of its reply. One total time limit covers waiting, attempts, redirects and the
 * body of the reply. The call is aborted when that limit passes, when its caller leaves, or when the gateway stops.
 */
export class CallScope {
  /** Watches each attempt of the call. */
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

  /** `total` is in milliseconds. `setBy` is the name of the limit in its error (default: the configuration key). */
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

  /** The call is on record: from now on a state-changing request may be sent. */
  permitChange(): void {
    this.#mayChange = true;
  }

  get mayChange(): boolean {
    return this.#mayChange;
  }

  /** Adds a request of this call to `traffic`. */
  sends(sending: Sending): void {
    this.#sendings.push(sending);
  }

  /** What this call has sent to far sides so far, and what came back. Bytes count bodies; those of replies count decoded. */
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

  /** Why the call was aborted; undefined where it was not. */
  get aborted(): Error | undefined {
    return this.#aborted;
  }

  /**
   * Sets what stops the work of this call when it is aborted; called at once if that has happened. There is one at a time, because a call has
   * one piece of work under way. Undefined removes it.
   */
  whenAborted(abort: ((reason: Error) => void) | undefined): void {
    this.#abort = abort;
    if (abort !== undefined && this.#aborted !== undefined) abort(this.#aborted);
  }

  /** Stops the work of the call with this reason. Only the first reason counts. */
  abort(reason: Error): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = reason;
    clearTimeout(this.#timer);
    this.#abort?.(reason);
  }

  /** Sets what releases the resources of the call when it ends, in any way; called at once if it has ended. */
  whenEnded(release: () => void): void {
    if (this.#ended) release();
    else this.#onEnd = release;
  }

  /** From now on the call goes on if its caller leaves, until `attachCaller`. */
  detachCaller(): void {
    this.#callerDetached = true;
  }

  /** Aborts and ends the call if its caller left meanwhile. */
  attachCaller(): void {
    this.#callerDetached = false;
    if (this.#callerHasLeft) this.callerLeft();
  }

  /** Aborts and ends the call: at once, or in `attachCaller` where the caller is detached. */
  callerLeft(): void {
    this.#callerHasLeft = true;
    if (this.#callerDetached) return;
    this.abort(new CallerLeft());
    this.end();
  }

  /** Ends the call and releases its resources. The owner of the scope calls this after the last byte of the reply. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#abort = undefined;
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

/** The progress of one request and its reply. */
export interface Sending {
  /** A byte of it may have left. */
  readonly left: boolean;
  readonly bodyLength: number;
  readonly received: number;
}

/** See CallScope.traffic. */
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

/** `setBy` is the name of what set the limit. */
export function timedOut(limit: keyof typeof limitMeaning, milliseconds: number, setBy = `timeouts.${limit}`): TimeLimitPassed {
  return new TimeLimitPassed(
    limit,
    milliseconds,
    `The far side took longer than ${milliseconds} ms for ${limitMeaning[limit]} (phase ${limit}; time limit ${setBy}).`,
  );
}
