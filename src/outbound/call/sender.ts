import type { Clock } from '#base/clock.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Connect } from '../dialling/connector.ts';
import { ConnectionPool, type IdleTime, type PoolFigures } from '../exchange/connection-pool.ts';
import { Exchange } from '../exchange/exchange.ts';
import { CallScope, TimeLimitPassed } from './call-scope.ts';
import { headerValue, type OutboundCall, type UpstreamReply } from './outbound-call.ts';

/** The only way to the network: one destination policy, pools of its own, no redirects, no retries. */
export interface Sender {
  /** Sends once, and waits for the first 64 KiB. Rejects with a GatewayError (403, 502, 504) or CallerLeft. A change needs `permitChange`. */
  send(call: OutboundCall, scope: CallScope): Promise<UpstreamReply>;
  /** Resolves once all calls have ended and every connection is closed. */
  close(): Promise<void>;
}

export interface PooledSender extends Sender {
  figures(): PoolFigures;
}

/** Milliseconds. An upstream may close an idle connection while a change is written to it: we then cannot tell whether the change happened. So changes have fresh connections of their own (decision 0020). */
const idle: { readonly reading: IdleTime; readonly changing: IdleTime } = {
  reading: { usual: 4_000, max: 600_000 },
  changing: { usual: 1_000, max: 1_000 },
};

/** `connect` holds the policy, TLS and the proxy, whose connections no other policy may use. */
export function createSender({ connect }: { readonly connect: Connect }): PooledSender {
  const [reading, changing] = [new ConnectionPool(connect, idle.reading), new ConnectionPool(connect, idle.changing)];
  return {
    send(call, scope) {
      // The last check for every code path: no change leaves unless it is on record.
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

/** No byte had left: look-up, connection or TLS failed. */
export function neverLeft(failure: unknown): boolean {
  if (failure instanceof TimeLimitPassed) return failure.limit === 'dns' || failure.limit === 'connect';
  return failure instanceof GatewayError && connectionFailures.has(failure.code);
}

/** For queries: no byte had left, or the connection broke before the reply. */
export function mayBeRepeated(failure: unknown): boolean {
  return neverLeft(failure) || (failure instanceof GatewayError && failure.code === 'upstream-closed');
}

const connectionFailures: ReadonlySet<ErrorCode> = new Set([
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
]);

const documentLimit = 1024 ** 2;

interface DocumentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Headers | Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | undefined;
}

/** The `fetch` of libraries, for documents up to 1 MiB such as an issuer's JWKS. Follows no redirect; rejects like Sender.send. Limits in milliseconds. */
export async function fetchDocument(
  address: string,
  { method, headers, body }: DocumentRequest,
  options: {
    readonly sender: Sender;
    readonly clock: Clock;
    readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
    readonly userAgent: string;
  },
): Promise<Response> {
  const { sender, clock, timeouts, userAgent } = options;
  const { origin, pathname, search } = new URL(address);
  const sent = new Headers(headers);
  sent.set('User-Agent', userAgent);
  const scope = new CallScope({ total: timeouts.total, clock });
  try {
    const reply = await sender.send(
      {
        origin,
        path: pathname + search,
        method,
        headers: [...sent].flat(),
        body: body && Buffer.from(body.toString()),
        // A login form changes nothing that has to be on record.
        stateChanging: false,
        timeouts,
        responseLimit: documentLimit,
      },
      scope,
    );
    const parts = [reply.head];
    for await (const part of reply.rest ?? []) parts.push(part);
    const whole = Buffer.concat(parts);
    // A Response with status 204 must have no body.
    const type = headerValue(reply.headers, 'content-type') ?? 'application/octet-stream';
    return new Response(whole.length === 0 ? null : whole, { status: reply.status, headers: { 'Content-Type': type } });
  } finally {
    scope.end();
  }
}
