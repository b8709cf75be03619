import type { Clock } from '#base/clock.ts';
import { CallScope } from './call-scope.ts';
import type { Sender } from './sender.ts';

const documentLimit = 1024 ** 2;
const formType = ['Content-Type', 'application/x-www-form-urlencoded'];

/**
 * Fetches a small document, such as an issuer's JWKS, with a GET, or with the POST of a form. It follows no redirects. The body is returned
 * as UTF-8 text. It rejects for documents over 1 MiB, and like Sender.send for other failures. Time limits are in milliseconds.
 */
export async function fetchDocument(options: {
  readonly url: string;
  readonly form?: URLSearchParams | undefined;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly userAgent: string;
}): Promise<{ readonly status: number; readonly body: string }> {
  const { sender, clock, timeouts, userAgent, form } = options;
  const url = new URL(options.url);
  const scope = new CallScope({ total: timeouts.total, clock });
  try {
    const reply = await sender.send(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: form === undefined ? 'GET' : 'POST',
        headers: ['Accept', 'application/json', 'User-Agent', userAgent, ...(form === undefined ? [] : formType)],
        body: form && Buffer.from(form.toString()),
        // A form of a login changes nothing that the gateway would have to put on record.
        stateChanging: false,
        timeouts,
        responseLimit: documentLimit,
      },
      scope,
    );
    const parts = [reply.head];
    for await (const part of reply.rest ?? []) parts.push(part);
    return { status: reply.status, body: Buffer.concat(parts).toString('utf8') };
  } finally {
    scope.end();
  }
}
