import { Type } from '#base/json-schema.ts';
import { frontDoorLimit } from '#http/connections/connection-limit.ts';
import { createStreamPlaces, eventStreamReply, eventStreamType, type StreamLimit } from '#http/event-stream.ts';
import type { Route, RouteDocs, RouteTraits } from '#http/route.ts';
import type { RunCatalogue } from '#runs/run-catalogue.ts';
import { cloudEventBatchType, cloudEventSchema, cloudEventsLimit, cloudEventType, readCloudEvents } from './cloud-events.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';
import { exampleRun, exampleStream, runParameter } from './run-docs.ts';
import { askedRun } from './run-texts.ts';

/** A stream lasts for up to an hour. */
const streaming: RouteTraits = { ...catalogueReading, holdsPlace: false };

/** The log of events as streams, and its entrance for events of callers. */
export function eventRoutes(runs: RunCatalogue, limit: StreamLimit = usualLimit()): readonly Route[] {
  const places = createStreamPlaces(limit);
  return [runEventsRoute(runs, places), allEventsRoute(runs, places), publishRoute(runs)];
}

type Places = ReturnType<typeof createStreamPlaces>;

/** A stream holds its connection: half of the connections are left for calls. */
function usualLimit(): StreamLimit {
  return { ofOne: 100, ofAll: Math.min(1_000, Math.ceil(frontDoorLimit().connections / 2)) };
}

const lastEventHeader = {
  name: 'Last-Event-ID',
  description:
    'The `id` of the last event that the caller has: the stream goes on after it. `0`: from the first event of the log.',
};

const streamSuccess = {
  status: 200,
  description:
    'Server-sent events (HTML): `id` is a number that increases, `event` the type of the CloudEvent, `data` the CloudEvent 1.0 as JSON. A comment comes after 15 seconds without an event.',
  mediaType: eventStreamType,
  schema: Type.String(),
  headers: { 'X-Accel-Buffering': '`no`: nginx passes each event on at once.' },
} satisfies RouteDocs['success'];

const streamEnds =
  'A stream ends after an hour, or when the gateway stops: connect again with `Last-Event-ID`. It ends too when its token or session ends, and when a reload changes the password, roles, groups or rights of its caller. A principal has at most 100 streams at a gateway; one more gets 503 `overloaded`.';

function runEventsRoute(runs: RunCatalogue, places: Places): Route {
  return {
    method: 'GET',
    url: '/runs/:id/events',
    handle: (request) =>
      eventStreamReply(request, { places, open: (options) => runs.follow({ ...askedRun(request), ...options }) }),
    ...streaming,
    docs: {
      tag: 'runs',
      operationId: 'followRun',
      summary: 'Follow a run: its events as they happen',
      description: `From the beginning of the run, and to its last event. ${streamEnds}`,
      pathParameters: runParameter,
      requestHeaders: [lastEventHeader],
      success: streamSuccess,
      otherReplies: [
        { status: 204, description: 'The run has ended, and the caller has all of its events: do not connect again.' },
      ],
      errors: ['run-not-found', 'store-unavailable'],
      example: { path: { id: exampleRun.id }, reply: exampleStream },
    },
  };
}

function allEventsRoute(runs: RunCatalogue, places: Places): Route {
  return {
    method: 'GET',
    url: '/events',
    handle: (request) =>
      eventStreamReply(request, {
        places,
        open: (options) => runs.followAll({ principal: request.context.record.principal, ...options }),
      }),
    ...streaming,
    docs: {
      tag: 'runs',
      operationId: 'followEvents',
      summary: 'Follow the events of all runs that the caller may see',
      description: `From now on. Lifecycle events and messages of these runs; for the roles admin and engineering also the events that callers send. A change of the rights to an automation counts within 5 seconds. ${streamEnds}`,
      requestHeaders: [lastEventHeader],
      success: streamSuccess,
      errors: ['store-unavailable'],
      example: { reply: exampleStream },
    },
  };
}

function publishRoute(runs: RunCatalogue): Route {
  return {
    method: 'POST',
    url: '/events',
    body: {
      kind: 'document',
      mediaTypes: [cloudEventType, cloudEventBatchType],
      limit: cloudEventsLimit,
      schema: cloudEventSchema,
    },
    async handle({ body, headers, context }) {
      const events = readCloudEvents(body as Buffer, headers['content-type']).map((event) => ({ event }));
      await runs.publish({ principal: context.record.principal, events });
      return { kind: 'plain', status: 204 };
    },
    ...catalogueChange,
    docs: {
      tag: 'runs',
      operationId: 'sendEvents',
      summary: 'Send an event, or several, to the runs that listen',
      description:
        'A CloudEvent 1.0 in structured mode, or a batch of up to 100. A task of a run that exists already, and that begins to listen within 5 minutes, takes the event too. An event with the `source` and `id` of an earlier one of the same caller is dropped, so that a repetition is safe. The gateway sets the attribute `sender`, the id of the caller.',
      success: { status: 204, description: 'The events are in the store.' },
      errors: ['invalid-json', 'quota-reached', 'store-unavailable'],
      example: {
        request: {
          specversion: '1.0',
          id: '4711',
          source: 'https://tickets.example.net/changes',
          type: 'net.example.change.approved',
          data: { change: 'CHG-4711' },
        },
      },
    },
  };
}
