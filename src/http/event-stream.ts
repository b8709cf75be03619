import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type EventPages, typeOfEvent } from '#runs/catalogue/run-follower.ts';
import type { EventRecord } from '#runs/journal/run-records.ts';
import { overloaded } from './admission/pressure.ts';
import type { RouteReply, RouteRequest } from './route.ts';

/** How many event streams may be open at once: of one principal, and of all together. */
export interface StreamLimit {
  readonly ofOne: number;
  readonly ofAll: number;
}

/**
 * Takes a place for a stream of the principal; throws 503 `overloaded` where there is none. The result frees it. Until then `check` is called
 * every second: a stream without events would otherwise not learn that its caller is gone.
 */
type StreamPlaces = (principal: Principal, check: () => void) => () => void;

const checkInterval = 1_000;

export function createStreamPlaces({ ofOne, ofAll }: StreamLimit): StreamPlaces {
  const open = new Map<string, number>();
  const checks = new Set<() => void>();
  let all = 0;
  let timer: NodeJS.Timeout | undefined;
  return ({ id }, check) => {
    const own = open.get(id) ?? 0;
    if (own >= ofOne) throw overloaded(`this caller has ${ofOne} event streams open, the most that one may have`);
    if (all >= ofAll) throw overloaded(`${ofAll} event streams are open, the most that it serves`);
    open.set(id, own + 1);
    all += 1;
    checks.add(check);
    // One timer for all: checks at the same moment share their query.
    timer ??= setInterval(() => {
      for (const one of checks) one();
    }, checkInterval);
    return () => {
      all -= 1;
      checks.delete(check);
      if (all === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      const left = (open.get(id) ?? 0) - 1;
      if (left > 0) open.set(id, left);
      else open.delete(id);
    };
  };
}

/**
 * Opens a stream of events for a request. It ends when the caller leaves, when its credentials or rights end, and when the gateway begins to
 * stop. `undefined` from `open`: there
 * is nothing to follow, which a 204 tells: a browser connects again after any other end (HTML, server-sent events).
 */
export async function eventStreamReply(
  { context, headers, whenDraining, watchCaller }: Pick<RouteRequest, 'context' | 'headers' | 'whenDraining' | 'watchCaller'>,
  {
    places,
    open,
  }: {
    readonly places: StreamPlaces;
    readonly open: (options: {
      readonly after: number | undefined;
      readonly signal: AbortSignal;
    }) => Promise<EventPages | undefined>;
  },
): Promise<RouteReply<never>> {
  const after = lastEventIdOf(headers);
  const ending = new AbortController();
  const holdsStill = watchCaller();
  const holds = async (): Promise<boolean> => {
    if (!ending.signal.aborted && !(await holdsStill().catch(() => false))) ending.abort();
    return !ending.signal.aborted;
  };
  let isAsking = false;
  const free = places(context.record.principal, () => {
    // An issuer that is slow to give its keys may take longer than the next question.
    if (isAsking) return;
    isAsking = true;
    void holds().finally(() => {
      isAsking = false;
    });
  });
  const forget = whenDraining(() => ending.abort());
  context.whenEnded(() => {
    forget();
    free();
    ending.abort();
  });
  const pages = await open({ after, signal: ending.signal });
  if (pages === undefined) return { kind: 'plain', status: 204 };
  // nginx passes a reply on as it comes only with this header.
  return { kind: 'streamed', mediaType: eventStreamType, headers: { 'X-Accel-Buffering': 'no' }, pieces: framesOf(pages, holds) };
}

export const eventStreamType = 'text/event-stream';

/** The number of the last event that the caller has. Throws 400 for a text that no event of the gateway had as its id. */
function lastEventIdOf(headers: IncomingHttpHeaders): number | undefined {
  const given = headers['last-event-id'];
  if (given === undefined) return undefined;
  const number = typeof given === 'string' && /^\d{1,16}$/u.test(given) ? Number(given) : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw new GatewayError(
      'malformed-request',
      'The Last-Event-ID is none of this gateway: send the id of an event, or 0 for all.',
    );
  return number;
}

const comment = Buffer.from(':\n\n');

/** Begins with a comment, so that the caller gets the head of the reply before the first event. No event leaves once the stream may not go on. */
async function* framesOf(pages: EventPages, holds: () => Promise<boolean>): AsyncGenerator<Buffer, void, undefined> {
  yield comment;
  for await (const page of pages) {
    if (!(await holds())) return;
    yield page.length === 0 ? comment : Buffer.from(page.map(frameOf).join(''));
  }
}

function frameOf(record: EventRecord): string {
  const { number, event } = record;
  // Compact JSON has no line breaks. A type may have them where a workflow emits it.
  const type = typeOfEvent(record).replaceAll(/[\r\n]+/gu, ' ');
  return `id: ${number}\nevent: ${type}\ndata: ${event}\n\n`;
}
