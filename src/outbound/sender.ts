import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed } from './call-scope.ts';
import { ConnectionPool, type IdleTime, type PoolFigures } from './connection-pool.ts';
import type { Connect } from './connector.ts';
import { Exchange } from './exchange.ts';
import type { FarSideReply, OutboundCall } from './outbound-call.ts';

/** The only way to the network: one destination policy, pools of connections of its own, no redirects, no retries. */
export interface Sender {
  /**
   * Sends the call once and waits for the first 64 KiB of its reply. Rejects with a GatewayError whose status is 403, 502 or 504, or with
   * CallerLeft. An abort of `scope` stops the call at any point. A state-changing call needs a scope that permits it
   * (CallScope.permitChange).
   */
  send(call: OutboundCall, scope: CallScope): Promise<FarSideReply>;
  /** Resolves once all calls in flight have ended and every connection is closed. */
  close(): Promise<void>;
}

/** A sender that reports on its connections. */
export interface PooledSender extends Sender {
  figures(): PoolFigures;
}

/**
 * Milliseconds that a connection may be idle: `usual`, or the time that the far side announced, up to `most`. A far side may close an idle
 * connection while the next call is written to it. Of a change it is then unknown whether it happened. Changes therefore have connections
 * of their own, which were in use less than a second ago (decision 0020).
 */
const idle: { readonly reading: IdleTime; readonly changing: IdleTime } = {
  reading: { usual: 4_000, most: 600_000 },
  changing: { usual: 1_000, most: 1_000 },
};

/** `connect` holds the destination policy, TLS and the proxy: connections of one policy are never used for another. */
export function createSender({ connect }: { readonly connect: Connect }): PooledSender {
  const [reading, changing] = [new ConnectionPool(connect, idle.reading), new ConnectionPool(connect, idle.changing)];
  return {
    send(call, scope) {
      // The last check for every code path: no call changes a far side unless it is on record.
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

/** True where no byte of the call had left: its name look-up, its connection or TLS failed. */
export function neverLeft(failure: unknown): boolean {
  if (failure instanceof TimeLimitPassed) return failure.limit === 'dns' || failure.limit === 'connect';
  return failure instanceof GatewayError && connectionFailures.has(failure.code);
}

/** True where a query may be sent again: no byte of it had left, or the connection broke before its reply. */
export function mayBeRepeated(failure: unknown): boolean {
  return neverLeft(failure) || (failure instanceof GatewayError && failure.code === 'upstream-closed');
}

const connectionFailures: ReadonlySet<ErrorCode> = new Set([
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
]);
