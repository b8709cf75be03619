import { CallerLeft } from '#base/caller-left.ts';
import { systemClock } from '#base/clock.ts';
import { packageVersion } from '#base/package-version.ts';
import type { RemoteGateway, RemoteRequest } from '#cli/command.ts';
import { CallScope } from '#outbound/call-scope.ts';
import { createConnector } from '#outbound/connector.ts';
import { headerValue } from '#outbound/outbound-call.ts';
import { createResolver } from '#outbound/resolver.ts';
import { createSender, type Sender } from '#outbound/sender.ts';

/** Milliseconds. A stream of events has a comment every 15 seconds, and ends after an hour. */
const limits = { dns: 5_000, connect: 5_000, firstByte: 30_000, idle: 45_000, total: 7_200_000 };

/** Sends requests to the running gateway at `url` until `work` has ended. An address with a path is the address behind a proxy. */
export async function withRemoteGateway<T>(url: URL, work: (gateway: RemoteGateway) => Promise<T>): Promise<T> {
  // No destination policy: the person who types the command names the destination.
  const connect = createConnector({ resolve: createResolver({ concurrency: 1 }), timeouts: limits });
  const sender = createSender({ connect });
  const userAgent = `orchestration-gateway/${await packageVersion()}`;
  try {
    return await work({ send: (request) => sent({ url, sender, userAgent }, request) });
  } finally {
    await sender.close();
  }
}

interface Way {
  readonly url: URL;
  readonly sender: Sender;
  readonly userAgent: string;
}

async function sent({ url, sender, userAgent }: Way, request: RemoteRequest): ReturnType<RemoteGateway['send']> {
  const { method = 'GET', path, headers = {}, body, signal } = request;
  const scope = new CallScope({ total: limits.total, clock: systemClock });
  // The gateway that gets the request records it. There is no record on this side.
  scope.permitChange();
  const leave = (): void => scope.abort(new CallerLeft());
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  const release = (): void => {
    signal?.removeEventListener('abort', leave);
    scope.end();
  };
  try {
    const reply = await sender.send(
      {
        origin: url.origin,
        path: url.pathname.replace(/\/$/u, '') + path,
        method,
        headers: Object.entries({ 'User-Agent': userAgent, ...headers }).flat(),
        body: body === undefined ? undefined : Buffer.from(body),
        stateChanging: method !== 'GET',
        timeouts: limits,
        responseLimit: Infinity,
        asItComes: true,
      },
      scope,
    );
    const header = (name: string): string | undefined => headerValue(reply.headers, name);
    return { status: reply.status, header, body: untilEnd(reply.rest, release) };
  } catch (error) {
    release();
    throw error;
  }
}

async function* untilEnd(body: AsyncIterable<Buffer> = nothing(), release: () => void): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* body;
  } finally {
    release();
  }
}

async function* nothing(): AsyncGenerator<Buffer, void, undefined> {}
