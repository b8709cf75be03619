import { Type } from '#base/json-schema.ts';
import { choiceParameter, cursorParameter, limitParameter, nameParameter, readParameters } from '#base/query-parameters.ts';
import { json, type Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { type Notification, type NotificationStatus, notificationStatuses } from '#notifications/notification.ts';
import type { NotificationCatalogue, ShownReceiver } from '#notifications/notification-catalogue.ts';
import { catalogueReading } from './route-traits.ts';

const time = Type.String({ format: 'date-time' });

const receiverSchema = namedObject('NotificationReceiver', {
  receiver: Type.String({ description: 'Host and port of its address; a further receiver with the same has a number.' }),
  events: Type.Array(Type.String()),
  state: Type.Enum(['new', 'active', 'gone'], {
    description:
      '`new`: the store does not know it yet, and it gets the events from then on. `gone`: it answered 410, and gets nothing until the next reload.',
  }),
  waiting: Type.Integer({ minimum: 0 }),
  oldestWaiting: Type.Optional(time),
});

const notificationSchema = namedObject('Notification', {
  id: Type.String({ description: 'The header `webhook-id`, the same for all attempts.' }),
  receiver: Type.String(),
  type: Type.String({ description: 'The type of the event.' }),
  event: Type.Integer({ description: 'The `id` of the event in `GET /events`.' }),
  status: Type.Enum([...notificationStatuses], {
    description: '`waiting`: it will be sent, or is being sent. `failed`: every attempt failed. `dropped`: its receiver is gone.',
  }),
  attempts: Type.Integer({ minimum: 0 }),
  createdAt: time,
  nextAttemptAt: Type.Optional(time),
  endedAt: Type.Optional(time),
  lastStatus: Type.Optional(Type.Integer({ description: 'What the receiver answered to the last attempt.' })),
  lastCode: Type.Optional(Type.String({ description: 'Why the last attempt had no answer: a code of the error table.' })),
});

const usualLimit = 100;
const mostListed = 1_000;

/** The receivers of notifications, and what was sent to them. */
export function notificationRoutes(notifications: NotificationCatalogue): readonly Route[] {
  return [
    {
      method: 'GET',
      url: '/notifications',
      query: () => true,
      async handle({ query, count }) {
        const request = readQuery(query);
        count();
        const { receivers, list, next } = await notifications.list(request);
        const cursor = next === undefined ? {} : { cursor: String(next) };
        return json(200, { receivers: receivers.map(shownReceiver), list: list.map(shownNotification), ...cursor });
      },
      ...catalogueReading,
      counted: 'judged',
      docs: notificationDocs,
    },
  ];
}

const notificationDocs: Route['docs'] = {
  tag: 'operations',
  operationId: 'listNotifications',
  summary: 'List the receivers of notifications, and what was sent to them',
  description:
    'The receivers of the configuration in force, and their notifications of the last 7 days, the newest first. Of all gateways on the store.',
  queryParameters: [
    { name: 'receiver', description: 'Only of this receiver.', schema: Type.String() },
    { name: 'status', description: 'Only with this status.', schema: Type.Enum([...notificationStatuses]) },
    {
      name: 'limit',
      description: 'Most notifications in the reply.',
      schema: Type.Integer({ minimum: 1, maximum: mostListed, default: usualLimit }),
    },
    { name: 'cursor', description: '`cursor` of the reply before.', schema: Type.String() },
  ],
  success: {
    status: 200,
    description: 'A page; `cursor` if there are more.',
    schema: namedObject('NotificationPage', {
      receivers: Type.Array(receiverSchema),
      list: Type.Array(notificationSchema),
      cursor: Type.Optional(Type.String()),
    }),
  },
  errors: ['store-unavailable'],
  example: {
    query: { status: 'waiting', limit: 1 },
    reply: {
      receivers: [
        {
          receiver: 'hooks.example.net',
          events: ['orchestration-gateway.adapter.down.v1'],
          state: 'active',
          waiting: 1,
          oldestWaiting: '2026-11-24T08:00:00.000Z',
        },
      ],
      list: [
        {
          id: 'msg_R9bWfYqfDqA5Vh8mGJc6uQnX1tZb0kLwEoSyPiTtMxs',
          receiver: 'hooks.example.net',
          type: 'orchestration-gateway.adapter.down.v1',
          event: 4711,
          status: 'waiting',
          attempts: 2,
          createdAt: '2026-11-24T08:00:00.000Z',
          nextAttemptAt: '2026-11-24T08:00:14.100Z',
          lastStatus: 503,
        },
      ],
    },
  },
};

/** Throws 400 with every problem. */
function readQuery(query: URLSearchParams): Parameters<NotificationCatalogue['list']>[0] {
  const read = readParameters(query, {
    receiver: nameParameter,
    status: choiceParameter(notificationStatuses),
    limit: limitParameter(mostListed),
    cursor: cursorParameter((text) => (/^[1-9]\d{0,14}$/u.test(text) ? Number(text) : undefined)),
  });
  if ('problems' in read) throw invalidRequest(read.problems);
  const {
    limit = usualLimit,
    cursor: before,
    ...filter
  } = read.values as {
    readonly receiver?: string;
    readonly status?: NotificationStatus;
    readonly limit?: number;
    readonly cursor?: number;
  };
  return { ...filter, limit, before };
}

function shownReceiver({ name, events, state, waiting, oldestWaiting }: ShownReceiver): object {
  return { receiver: name, events, state, waiting, ...at('oldestWaiting', oldestWaiting) };
}

function shownNotification(one: Notification): object {
  const { webhookId, receiver, type, event, status, attempts, createdAt, dueAt, endedAt, lastStatus, lastCode } = one;
  const times = { ...at('createdAt', createdAt), ...at('nextAttemptAt', dueAt), ...at('endedAt', endedAt) };
  return { id: webhookId, receiver, type, event, status, attempts, ...times, lastStatus, lastCode };
}

function at(name: string, time: number | undefined): object {
  return time === undefined ? {} : { [name]: new Date(time).toISOString() };
}
