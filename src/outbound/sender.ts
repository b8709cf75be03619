import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed } from './call-scope.ts';
import { ConnectionPool, type IdleTime, type PoolFigures } from './connection-pool.ts';
import type { Connect } from './connector.ts';
import { Exchange } from './exchange.ts';
import type { FarSideReply, OutboundCall } from './outbound-call.ts';

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

/** A sender that can tell of its connections. */
export interface PooledSender extends Sender {
  figures(): PoolFigures;
}

/**
 * Milliseconds that a connection may have been idle: as it comes, and as long as a far side says that it keeps it. One that the far side is
 * closing at that moment has the next call written to it in vain, and of a change nobody knows then whether it happened: those go over
 * connections of their own that were in use just now (decision 0020).
 */
const idle: { readonly reading: IdleTime; readonly changing: IdleTime } = {
  reading: { usual: 4_000, most: 600_000 },
  changing: { usual: 1_000, most: 1_000 },
};

/** `connect` carries the destination policy, TLS and the proxy: connections under one policy are never lent to another. */
export function createSender({ connect }: { readonly connect: Connect }): PooledSender {
  const [reading, changing] = [new ConnectionPool(connect, idle.reading), new ConnectionPool(connect, idle.changing)];
  return {
    send(call, scope) {
      // Whatever way a call took to get here: nothing changes a far side unless it is on record.
      if (call.stateChanging && !scope.mayChange) return Promise.reject(new Error('A state-changing call is not on record.'));
      const attempt = scope.aborted === undefined ? scope.attempts?.begin(call) : undefined;
      const exchange = new Exchange(call, attempt);
      scope.sends(exchange);
      scope.whenAborted((reason) => exchange.abort(reason));
      if (scope.aborted === undefined) (call.stateChanging ? changing : reading).send(exchange);
      return exchange.reply;
    },
    async close() {
      await Promise.all([reading.close(), changing.close()]);
    },
    figures() {
      const [one, other] = [reading.figures, changing.figures];
      return { busy: one.busy + other.busy, idle: one.idle + other.idle, waiting: one.waiting + other.waiting };
    },
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
