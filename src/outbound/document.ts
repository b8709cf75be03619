import type { Clock } from '#base/clock.ts';
import { CallScope } from './call-scope.ts';
import { headerValue } from './outbound-call.ts';
import type { Sender } from './sender.ts';

const documentLimit = 1024 ** 2;

/** What a library passes to `fetch`. */
interface DocumentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Headers | Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | undefined;
}

/**
 * The `fetch` of libraries, for small documents such as an issuer's JWKS. It goes through `sender` and follows no redirect. It rejects for
 * documents over 1 MiB, and like Sender.send for other failures. Time limits are in milliseconds.
 */
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
        // A form of a login changes nothing that the gateway would have to put on record.
        stateChanging: false,
        timeouts,
        responseLimit: documentLimit,
      },
      scope,
    );
    const parts = [reply.head];
    for await (const part of reply.rest ?? []) parts.push(part);
    const whole = Buffer.concat(parts);
    // A Response with status 204 must have no body at all.
    const type = headerValue(reply.headers, 'content-type') ?? 'application/octet-stream';
    return new Response(whole.length === 0 ? null : whole, { status: reply.status, headers: { 'Content-Type': type } });
  } finally {
    scope.end();
  }
}
