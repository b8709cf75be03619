import type { Socket } from 'node:net';
import type { Clock } from '#base/clock.ts';
import { TimeLimitPassed } from './call-scope.ts';

/** One time limit for dialling, a proxy's reply and the TLS handshake of a connection (`timeouts.connect`, milliseconds). */
export class ConnectDeadline {
  readonly #clock: Clock;
  readonly #expiresAt: number;
  readonly #limit: number;

  constructor(limit: number, clock: Clock) {
    this.#clock = clock;
    this.#limit = limit;
    this.#expiresAt = clock.monotonic() + limit;
  }

  /** Milliseconds left, at least 0. */
  remaining(): number {
    return Math.max(0, this.#expiresAt - this.#clock.monotonic());
  }

  /** 504 with the phase, its current step and the limit. */
  expired(doing: string): TimeLimitPassed {
    return new TimeLimitPassed(
      'connect',
      this.#limit,
      `The connection took longer than ${this.#limit} ms (phase connect, during ${doing}; time limit timeouts.connect).`,
    );
  }
}

/** A step of connecting took longer than its share of the time limit. */
export class StepTimedOut extends Error {
  constructor() {
    super('timed out');
    this.name = 'StepTimedOut';
  }
}

interface Step {
  readonly socket: Socket;
  /** The event at which `attempt` is called. */
  readonly event: 'connect' | 'secureConnect' | 'readable';
  /** Milliseconds for the whole step. */
  readonly limit: number;
}

/**
 * Calls `attempt` at each `event` until it returns a value. On an error, a close, an exception of `attempt` or a passed limit the socket is
 * destroyed. The promise then rejects with that error, or with StepTimedOut.
 */
export function untilReady<Answer>({ socket, event, limit }: Step, attempt: () => Answer | undefined): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const onEvent = (): void => {
    try {
      const answer = attempt();
      if (answer !== undefined) end(() => resolve(answer));
    } catch (error) {
      onError(error instanceof Error ? error : new Error('the step failed', { cause: error }));
    }
  };
  const onError = (error: Error): void => {
    end(() => reject(error));
    socket.destroy();
  };
  const onClose = (): void => onError(new ClosedEarly());
  const timer = setTimeout(() => onError(new StepTimedOut()), limit);
  const end = (settle: () => void): void => {
    clearTimeout(timer);
    socket.off(event, onEvent).off('error', onError).off('close', onClose).off('end', onClose);
    settle();
  };
  // A socket may emit 'error' between two owners. Without a listener Node would throw.
  socket.on('error', ignore);
  socket.on(event, onEvent).on('error', onError).on('close', onClose).on('end', onClose);
  return promise;
}

/** The far side closed or reset the connection before it could be used. */
export class ClosedEarly extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed');
    this.name = 'ClosedEarly';
  }
}

function ignore(): void {}
