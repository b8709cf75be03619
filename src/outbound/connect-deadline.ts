import type { Socket } from 'node:net';
import type { Clock } from '#base/clock.ts';
import { TimeLimitPassed } from './call-scope.ts';

/** The one time limit over dialling, a proxy's answer and the TLS handshake of a connection (`timeouts.connect`, milliseconds). */
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

  /** 504 that names the phase, what it was busy with, and the limit in force. */
  expired(doing: string): TimeLimitPassed {
    return new TimeLimitPassed(
      'connect',
      this.#limit,
      `The connection took longer than ${this.#limit} ms (phase connect, during ${doing}; time limit timeouts.connect).`,
    );
  }
}

/** A step of connecting did not end within its share of the time limit. */
export class StepTimedOut extends Error {
  constructor() {
    super('timed out');
    this.name = 'StepTimedOut';
  }
}

interface Step {
  readonly socket: Socket;
  /** The event that ends the step well, unless `attempt` is what says so. */
  readonly event: 'connect' | 'secureConnect' | 'readable';
  /** Milliseconds for the whole step. */
  readonly limit: number;
}

/**
 * Waits until `attempt`, called at each `event`, answers something. On an error, a close, a thrown `attempt` or when time is up the
 * socket is destroyed and the promise rejects: with what the socket emitted, or StepTimedOut.
 */
export function untilReady<Answer>({ socket, event, limit }: Step, attempt: () => Answer | undefined): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const onEvent = (): void => {
    try {
      const answer = attempt();
      if (answer !== undefined) settle(() => resolve(answer));
    } catch (error) {
      onError(error instanceof Error ? error : new Error('the step failed', { cause: error }));
    }
  };
  const onError = (error: Error): void => {
    settle(() => reject(error));
    socket.destroy();
  };
  const onClose = (): void => onError(new ClosedEarly());
  const timer = setTimeout(() => onError(new StepTimedOut()), limit);
  const settle = (finish: () => void): void => {
    clearTimeout(timer);
    socket.off(event, onEvent).off('error', onError).off('close', onClose).off('end', onClose);
    finish();
  };
  // A socket emits errors for as long as it lives; between two owners nobody else would listen, and Node would throw.
  socket.on('error', ignore);
  socket.on(event, onEvent).on('error', onError).on('close', onClose).on('end', onClose);
  return promise;
}

class ClosedEarly extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed');
    this.name = 'ClosedEarly';
  }
}

function ignore(): void {}
