import { Agent, type buildConnector } from 'undici';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed } from './call-scope.ts';
import { readDirectly } from './direct-reading.ts';
import { Exchange } from './exchange.ts';
import type { FarSideReply, OutboundCall } from './outbound-call.ts';
import { certificateRefused } from './tls-failure.ts';
import { skipUnaskedContinue } from './unasked-continue.ts';

/** The only way to the network: one connection policy, its own pool of connections, no redirects, no retries. */
export interface Sender {
  /**
   * Sends the call once and waits for its reply's first 64 KiB. Rejects with a GatewayError of the 502/504/403 rows of the
   * error table, or with CallerLeft. Ending `scope` stops the call wherever it is. A state-changing call needs
   * a scope that permits it (CallScope.permitChange).
   */
  send(call: OutboundCall, scope: CallScope): Promise<FarSideReply>;
  /** Finishes what is in flight, then closes every connection. */
  close(): Promise<void>;
}

/** What a pool of connections holds. */
export interface PoolFigures {
  readonly busy: number;
  readonly idle: number;
  /** Calls that wait for their connection to be made. */
  readonly waiting: number;
}

/** A sender that can tell of its connections. */
export interface PooledSender extends Sender {
  figures(): PoolFigures;
}

/**
 * Milliseconds that a connection may have been idle: as it comes, and as long as a far side says that it keeps it. One that the far side is
 * closing at that moment has the next call written to it in vain, and of a change nobody knows then whether it happened: those go over
 * connections of their own that were in use just now (decision 0020).
 */
const idle = { reading: { usual: 4_000, most: 600_000 }, changing: { usual: 1_000, most: 1_000 } } as const;

/** `connect` carries the destination policy, TLS and the proxy: connections under one policy are never lent to another. */
export function createSender(options: { readonly connect: buildConnector.connector }): PooledSender {
  const connect = asRead(options.connect);
  const agentFor = (use: keyof typeof idle): Agent =>
    new Agent({
      connect,
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: idle[use].usual,
      keepAliveMaxTimeout: idle[use].most,
    });
  const [reading, changing] = [agentFor('reading'), agentFor('changing')];
  return {
    send(call, scope) {
      // Whatever way a call took to get here: nothing changes a far side unless it is on record.
      if (call.stateChanging && !scope.mayChange) return Promise.reject(new Error('A state-changing call is not on record.'));
      const attempt = scope.ended === undefined ? scope.attempts?.begin(call) : undefined;
      const exchange = new Exchange(call, attempt);
      scope.sends(exchange);
      scope.whenEnded((reason) => exchange.abort(reason));
      if (scope.ended === undefined) {
        (call.stateChanging ? changing : reading).dispatch(
          {
            origin: call.origin,
            path: call.path,
            method: call.method,
            headers: (attempt?.headers ?? call.headers) as string[],
            body: call.body ?? null,
            // The exchange sees to both.
            headersTimeout: 0,
            bodyTimeout: 0,
          },
          exchange,
        );
      }
      return exchange.reply;
    },
    async close() {
      await Promise.all([reading.close(), changing.close()]);
    },
    figures() {
      const pools = [reading, changing].flatMap(({ stats }) => Object.values(stats));
      const sum = (figure: 'connected' | 'running' | 'pending'): number =>
        pools.reduce((total, pool) => total + Number(pool[figure]), 0);
      // Pipelining is 1: what runs is a connection in use.
      const busy = sum('running');
      return { busy, idle: Math.max(0, sum('connected') - busy), waiting: sum('pending') };
    },
  };
}

/** undici's errors for a connection that the far side ended, and for some replies that it refuses. */
const closings: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);

/**
 * Sockets as undici is to see them: without interim answers that nobody asked for, and with resets that are resets. undici takes a
 * reset for the end of a reply that ends with its connection (a concession to an old macOS fault), which would pass a truncated reply
 * off as whole; under another code it stays the failure it is. Of a TLS alert it would report the end that follows it.
 */
function asRead(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) => {
    connect(target, (...result) => {
      const [, socket] = result;
      if (socket !== null) {
        readDirectly(socket);
        skipUnaskedContinue(socket);
      }
      socket?.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'CONNECTION_RESET';
        // Two Content-Lengths or an upgrade that nobody asked for have undici end a connection that the far side did not.
        if (closings.has(error.code ?? '') && !socket.readableEnded) error.code = 'REPLY_REFUSED';
        if (error.code?.startsWith('ERR_SSL_') === true)
          socket.destroy(certificateRefused(error, socket, `${target.hostname}:${target.port || '443'}`) ?? error);
      });
      callback(...result);
    });
  };
}

/** True where the failure came before any byte of the call left: the name, the connection or TLS failed. */
export function neverLeft(failure: unknown): boolean {
  if (failure instanceof TimeLimitPassed) return failure.limit === 'dns' || failure.limit === 'connect';
  return failure instanceof GatewayError && connectionFailures.has(failure.code);
}

/** What changes nothing may be sent again after it: nothing left, or the connection broke before an answer. */
export function mayBeRepeated(failure: unknown): boolean {
  return neverLeft(failure) || (failure instanceof GatewayError && failure.code === 'upstream-closed');
}

const connectionFailures: ReadonlySet<ErrorCode> = new Set([
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
]);
