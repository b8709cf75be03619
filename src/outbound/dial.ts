import { connect, isIP, type Socket } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { canonicalAddress, readAddress } from './address.ts';
import { ClosedEarly, type ConnectDeadline, StepTimedOut, untilReady } from './connect-deadline.ts';
import { deniedError, hostAndPort } from './destination-policy.ts';

/** Opens a TCP connection to an IP address, never to a name. Tests pass their own function. */
export type Dial = (destination: { readonly host: string; readonly port: number }) => Socket;

/** `autoSelectFamily` is off: `dialEach` tries the addresses in order, and Node must try no others. */
export function dialDirectly({ host, port }: Parameters<Dial>[0]): Socket {
  return connect({ host, port, family: isIP(host), autoSelectFamily: false });
}

/** One address failed; another may work. The message is a sentence without its full stop. */
export class AddressFailed extends Error {}

interface DialOptions {
  /** At least one. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly deadline: ConnectDeadline;
  /** Follows "No connection" in errors: " by way of the proxy 10.0.0.1:3128". */
  readonly way: string;
  /** Opens a usable connection to one address within `limit` milliseconds. */
  readonly open: (address: string, limit: number) => Promise<Socket>;
}

/** Each address gets an equal share of the remaining time, but at least this many milliseconds while that many remain. */
const shortestAttempt = 1_000;

/**
 * Tries the addresses in order within the time limit. Rejects with `upstream-timeout`, or with `upstream-connect-failed` that names each
 * address and its cause. A GatewayError from `open` ends the attempts at once.
 */
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
      // The last address had all the remaining time. Timers may fire a fraction of a millisecond early.
      if (error instanceof StepTimedOut && (left === 1 || deadline.remaining() < 1))
        throw deadline.expired(`the connection to ${where}${way}`);
      failures.push(error instanceof AddressFailed ? error.message : `${where} ${socketFailure(error)}`);
    }
  }
  throw new GatewayError('upstream-connect-failed', `No connection${way}: ${failures.join('; ')}.`);
}

/** Dials one address. `pinned` also checks that the connection ended there: 0.0.0.0, for example, ends at the loopback address. */
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
    // The system has forgotten the address of a connection that the far side has reset by now.
    if (remote === undefined) throw new ClosedEarly();
    if (pinned && !sameAddress(remote, address)) throw strayed(address, port, remote);
    // Without Nagle's delay requests leave at once. Keep-alive probes detect a far side that vanished.
    return socket.setNoDelay(true).setKeepAlive(true, 60_000);
  });
}

/** Describes a socket's error as a predicate with the system's code. The error's message is left out, because it may quote data. */
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
