import { Type } from '#base/json-schema.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { frontDoorLimit } from '../../connections/connection-limit.ts';
import { createStreamPlaces, eventStreamReply, eventStreamType, type StreamLimit } from '../../event-stream.ts';
import { type ApiRoute, noContent, route } from '../../route.ts';
import { catalogueChange, catalogueReading } from '../route-traits.ts';
import { cloudEventBatchType, cloudEventSchema, cloudEventsLimit, cloudEventType, readCloudEvents } from './cloud-events.ts';
import { exampleId, runParams } from './run-schemas.ts';

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
