import { connect, isIP, type Socket } from 'node:net';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { TimeLimitPassed } from '../call/call-scope.ts';
import { canonicalAddress, readAddress } from '../policy/address.ts';
import { deniedError, hostAndPort } from '../policy/destination-policy.ts';

/** For dialling, a proxy's reply and TLS together (`timeouts.connect`, milliseconds). */
export class ConnectDeadline {
  readonly #clock: Clock;
  readonly #expiresAt: number;
  readonly #limit: number;

  constructor(limit: number, clock: Clock) {
    this.#clock = clock;
    this.#limit = limit;
    this.#expiresAt = clock.monotonic() + limit;
  }

  remaining(): number {
    return Math.max(0, this.#expiresAt - this.#clock.monotonic());
  }

  expired(doing: string): TimeLimitPassed {
    return new TimeLimitPassed(
      'connect',
      this.#limit,
      `The connection took longer than ${this.#limit} ms (phase connect, during ${doing}; time limit timeouts.connect).`,
    );
  }
}

/** Longer than its share of the time limit. */
export class StepTimedOut extends Error {
  constructor() {
    super('timed out');
    this.name = 'StepTimedOut';
  }
}

interface Step {
  readonly socket: Socket;
  readonly event: 'connect' | 'secureConnect' | 'readable';
  /** Milliseconds. */
  readonly limit: number;
}

/** Calls `attempt` at each `event` until it returns a value. Destroys the socket and rejects on an error, a close, an exception or the limit (StepTimedOut). */
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
  // A socket may emit 'error' between two owners, and Node would throw without a listener.
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

/** To an IP address, never to a name. */
export type Dial = (destination: { readonly host: string; readonly port: number }) => Socket;

/** `dialEach` tries the addresses in order, and Node must try no others. */
export function dialDirectly({ host, port }: Parameters<Dial>[0]): Socket {
  return connect({ host, port, family: isIP(host), autoSelectFamily: false });
}

/** Another address may work. The message has no full stop. */
export class AddressFailed extends Error {}

interface DialOptions {
  /** At least one. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly deadline: ConnectDeadline;
  /** Follows "No connection" in errors: " by way of the proxy 10.0.0.1:3128". */
  readonly way: string;
  /** Within `limit` milliseconds. */
  readonly open: (address: string, limit: number) => Promise<Socket>;
}

/** Milliseconds; more where an equal share of the remaining time is more. */
const shortestAttempt = 1_000;

/** In order. Rejects with `upstream-timeout`, or `upstream-connect-failed` with each cause. A GatewayError of `open` ends the attempts. */
export async function dialEach({ addresses, port, deadline, way, open }: DialOptions): Promise<Socket> {
  const failures: string[] = [];
  for (const [index, address] of addresses.entries()) {
    const remaining = deadline.remaining();
    const left = addresses.length - index;
    try {
      return await open(address, Math.max(remaining / left, Math.min(remaining, shortestAttempt)));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const where = hostAndPort(address, port);
      // It had all the remaining time. Timers may fire a fraction of a millisecond early.
      if (error instanceof StepTimedOut && (left === 1 || deadline.remaining() < 1))
        throw deadline.expired(`the connection to ${where}${way}`);
      failures.push(error instanceof AddressFailed ? error.message : `${where} ${socketFailure(error)}`);
    }
  }
  throw new GatewayError('upstream-connect-failed', `No connection${way}: ${failures.join('; ')}.`);
}

/** `pinned`: checks where the connection ended, since 0.0.0.0 ends at the loopback address. */
export async function dialOne(options: {
  readonly dial: Dial;
  readonly address: string;
  readonly port: number;
  readonly limit: number;
  readonly pinned: boolean;
}): Promise<Socket> {
  const { dial, address, port, limit, pinned } = options;
  const socket = dial({ host: address, port });
  return await untilReady({ socket, event: 'connect', limit }, () => {
    const remote = socket.remoteAddress;
    // Forgotten where the upstream has already reset the connection.
    if (remote === undefined) throw new ClosedEarly();
    if (pinned && !sameAddress(remote, address)) throw strayed(address, port, remote);
    // Requests leave at once. Probes detect an upstream that vanished.
    return socket.setNoDelay(true).setKeepAlive(true, 60_000);
  });
}

/** A predicate with the system's code. The error's message may quote data. */
export function socketFailure(error: unknown): string {
  if (error instanceof StepTimedOut) return 'did not answer in time';
  const code = systemCode(error) ?? 'unknown cause';
  return `${causes.get(code) ?? 'could not be connected to'} (${code})`;
}

function sameAddress(remote: string, checked: string): boolean {
  const [one, other] = [remote, checked].map((text) => {
    const address = readAddress(text);
    return address === undefined ? undefined : canonicalAddress(address).toString();
  });
  return one !== undefined && one === other;
}

function strayed(address: string, port: number, remote: string): GatewayError {
  const reason = `was checked, but the connection ended at ${remote}`;
  return deniedError({ allowed: false, host: address, port, address, reason });
}

const causes: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'refused the connection'],
  ['ECONNRESET', 'closed the connection at once'],
  ['ETIMEDOUT', 'did not answer in time'],
  ['EHOSTUNREACH', 'cannot be reached'],
  ['ENETUNREACH', 'is in a network that cannot be reached'],
  ['EADDRNOTAVAIL', 'is not available from this machine'],
  ['EACCES', 'is forbidden to this process by the system'],
  ['EPERM', 'is forbidden to this process by the system'],
  ['EMFILE', 'was not tried: the gateway has no file descriptor left'],
  ['ENFILE', 'was not tried: the machine has no file descriptor left'],
]);
