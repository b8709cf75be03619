import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AttemptWatcher } from './attempt.ts';

/**
 * The life of one call from its arrival to the last byte of its reply: one total time limit over waiting, attempts,
 * redirects and the reply's body, and the caller's leaving. Ending it aborts whatever is under way.
 */
export class CallScope {
  /** Who is told of each sending, if anybody. */
  readonly attempts: AttemptWatcher | undefined;
  readonly #clock: Clock;
  readonly #expiresAt: number;
  readonly #timer: NodeJS.Timeout;
  #aborted: Error | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #giveBack: (() => void) | undefined;
  #ended = false;
  #mayChange = false;
  #detached = false;
  #abandoned = false;
  readonly #sendings: Sending[] = [];

  /** `total` is in milliseconds, `setBy` what its error names as the limit in force (default: the configuration). */
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

  /** The call is on record: from now on it may be sent, whatever its method. */
  permitChange(): void {
    this.#mayChange = true;
  }

  get mayChange(): boolean {
    return this.#mayChange;
  }

  /** One more request of this call. */
  sends(sending: Sending): void {
    this.#sendings.push(sending);
  }

  /** What went to far sides for this call so far, and what came back; bytes of bodies, those that came decoded. */
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

  /** Why the call is over before its time, if it is. */
  get aborted(): Error | undefined {
    return this.#aborted;
  }

  /** Names what is to be stopped when the scope ends; called at once if it has ended already. One at a time: a call has one thing under way. */
  whenAborted(abort: ((reason: Error) => void) | undefined): void {
    this.#abort = abort;
    if (abort !== undefined && this.#aborted !== undefined) abort(this.#aborted);
  }

  abort(reason: Error): void {
    if (this.#aborted !== undefined) return;
    this.#aborted = reason;
    clearTimeout(this.#timer);
    this.#abort?.(reason);
  }

  /** Names what is to be given back when the call is done, in whatever way. */
  whenEnded(giveBack: () => void): void {
    if (this.#ended) giveBack();
    else this.#giveBack = giveBack;
  }

  /** From now on the call goes on without its caller, until it is carried out. */
  detachCaller(): void {
    this.#detached = true;
  }

  attachCaller(): void {
    this.#detached = false;
    if (this.#abandoned) this.callerLeft();
  }

  /** Ends the call and gives back what it holds: at once, or when it is carried out. */
  callerLeft(): void {
    this.#abandoned = true;
    if (this.#detached) return;
    this.abort(new CallerLeft());
    this.end();
  }

  /** The call is done: nothing is aborted any more. Whoever opened the scope calls this once nothing of the reply is left to send. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#abort = undefined;
    this.#giveBack?.();
    this.#giveBack = undefined;
  }
}

/** One request and its reply as far as they have come. */
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

/** 504 that names the phase and the limit in force. */
export class TimeLimitPassed extends GatewayError {
  readonly limit: TimeLimit;
  readonly milliseconds: number;

  constructor(limit: TimeLimit, milliseconds: number, detail: string) {
    super('upstream-timeout', detail);
    this.limit = limit;
    this.milliseconds = milliseconds;
  }
}

/** `setBy` is what set the limit. */
export function timedOut(limit: keyof typeof limitMeaning, milliseconds: number, setBy = `timeouts.${limit}`): TimeLimitPassed {
  return new TimeLimitPassed(
    limit,
    milliseconds,
    `The far side took longer than ${milliseconds} ms for ${limitMeaning[limit]} (phase ${limit}; time limit ${setBy}).`,
  );
}
