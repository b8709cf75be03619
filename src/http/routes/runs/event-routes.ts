import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { type EventPages, typeOfEvent } from '#runs/catalogue/run-follower.ts';
import type { EventRecord } from '#runs/journal/run-records.ts';
import { overloaded } from '../../admission/pressure.ts';
import { frontDoorLimit } from '../../connections/connection-limit.ts';
import { type ApiRoute, noContent, type RouteReply, type RouteRequest, route } from '../../route.ts';
import { catalogueChange, catalogueReading } from '../route-traits.ts';
import { cloudEventBatchType, cloudEventSchema, cloudEventsLimit, cloudEventType, readCloudEvents } from './cloud-events.ts';
import { exampleId, runParams } from './run-schemas.ts';

/** How many event streams may be open at once: of one principal, and of all together. */
interface StreamLimit {
  readonly ofOne: number;
  readonly ofAll: number;
}

/**
 * Takes a place for a stream of the principal; throws 503 `overloaded` where there is none. The result frees it. Until then `check` is called
 * every second: a stream without events would otherwise not learn that its caller is gone.
 */
type StreamPlaces = (principal: Principal, check: () => void) => () => void;

const checkInterval = 1_000;

function createStreamPlaces({ ofOne, ofAll }: StreamLimit): StreamPlaces {
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
async function eventStreamReply(
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

const eventStreamType = 'text/event-stream';

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

/** The log of events as streams, and its entrance for events of callers. */
export function eventRoutes(runs: RunCatalogue, limit: StreamLimit = usualLimit()): readonly ApiRoute[] {
  const places = createStreamPlaces(limit);
  return [
    followRun.serve((request) => {
      const asked = { principal: request.principal, ...request.params };
      return eventStreamReply(request, { places, open: (options) => runs.follow({ ...asked, ...options }) });
    }),
    followEvents.serve((request) => {
      const { principal } = request;
      return eventStreamReply(request, { places, open: (options) => runs.followAll({ principal, ...options }) });
    }),
    sendEvents.serve(async ({ body, headers, principal }) => {
      const events = readCloudEvents(body, headers['content-type']).map((event) => ({ event }));
      await runs.publish({ principal, events });
      return noContent;
    }),
  ];
}

/** A stream holds its connection: half of the connections are left for calls. */
function usualLimit(): StreamLimit {
  return { ofOne: 100, ofAll: Math.min(1_000, Math.ceil(frontDoorLimit().connections / 2)) };
}

const streamEnds =
  'A stream ends after an hour, or when the gateway stops: connect again with `Last-Event-ID`. It ends too when its token or session ends, and when a reload changes the password, roles, groups or rights of its caller. A principal has at most 100 streams at a gateway; one more gets 503 `overloaded`.';

/** A stream lasts for up to an hour. */
const stream = {
  ...catalogueReading,
  holdsPlace: false,
  tag: 'runs',
  requestHeaders: {
    'Last-Event-ID':
      'The `id` of the last event that the caller has: the stream goes on after it. `0`: from the first event of the log.',
  },
  reply: {
    description:
      'Server-sent events (HTML): `id` is a number that increases, `event` the type of the CloudEvent, `data` the CloudEvent 1.0 as JSON. A comment comes after 15 seconds without an event.',
    mediaType: eventStreamType,
    schema: Type.String(),
    headers: { 'X-Accel-Buffering': '`no`: nginx passes each event on at once.' },
  },
} as const;

const exampleStream = [
  'id: 41',
  'event: io.serverlessworkflow.workflow.started.v1',
  `data: {"specversion":"1.0","id":"6f0d8c1e-2b7a-4d53-9e44-1c8a7b6f5d20","source":"/runs/${exampleId}","type":"io.serverlessworkflow.workflow.started.v1","time":"2026-03-01T22:00:00.012Z","subject":"lab.sync","datacontenttype":"application/json","data":{"name":"sync-${exampleId}.lab","startedAt":"2026-03-01T22:00:00.012Z"}}`,
].join('\n');

const followRun = route('GET /runs/:id/events', {
  ...stream,
  operationId: 'followRun',
  summary: 'Follow a run: its events as they happen',
  description: `From the beginning of the run, and to its last event. ${streamEnds}`,
  params: runParams,
  otherReplies: [{ status: 204, description: 'The run has ended, and the caller has all of its events: do not connect again.' }],
  errors: ['run-not-found'],
  example: { path: { id: exampleId }, reply: exampleStream },
});

const followEvents = route('GET /events', {
  ...stream,
  operationId: 'followEvents',
  summary: 'Follow the events of all runs that the caller may see',
  description: `From now on. Lifecycle events and messages of these runs; for the roles admin and engineering also the events that callers send. A change of the rights to an automation counts within 5 seconds. ${streamEnds}`,
  example: { reply: exampleStream },
});

const sendEvents = route('POST /events', {
  ...catalogueChange,
  tag: 'runs',
  operationId: 'sendEvents',
  summary: 'Send an event, or several, to the runs that listen',
  description:
    'A CloudEvent 1.0 in structured mode, or a batch of up to 100. A task of a run that exists already, and that begins to listen within 5 minutes, takes the event too. An event with the `source` and `id` of an earlier one of the same caller is dropped, so that a repetition is safe. The gateway sets the attribute `sender`, the id of the caller.',
  body: {
    kind: 'document',
    mediaTypes: [cloudEventType, cloudEventBatchType],
    limit: cloudEventsLimit,
    schema: cloudEventSchema,
  },
  reply: { status: 204, description: 'The events are in the store.' },
  errors: ['invalid-json', 'quota-reached'],
  example: {
    request: {
      specversion: '1.0',
      id: '4711',
      source: 'https://tickets.example.net/changes',
      type: 'net.example.change.approved',
      data: { change: 'CHG-4711' },
    },
  },
});
