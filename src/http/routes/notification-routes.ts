import { Type } from '#base/json-schema.ts';
import { choiceParameter, nameParameter, pageParameters } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type Notification, notificationStatuses } from '#notifications/notification.ts';
import type { NotificationCatalogue, ShownReceiver } from '#notifications/notification-catalogue.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { isoTime, time } from './lists.ts';
import { catalogueReading } from './route-traits.ts';

/** The receivers of notifications, and what was sent to them. */
export function notificationRoutes(notifications: NotificationCatalogue): readonly ApiRoute[] {
  return [
    listNotifications.serve(async ({ query: { cursor: before, ...query } }) => {
      const { receivers, list, next } = await notifications.list({ ...query, before });
      const cursor = next === undefined ? undefined : String(next);
      return json(200, { receivers: receivers.map(shownReceiver), list: list.map(shownNotification), cursor });
    }),
  ];
}

function shownReceiver({ name, events, state, waiting, oldestWaiting }: ShownReceiver) {
  return { receiver: name, events, state, waiting, oldestWaiting: isoTime(oldestWaiting) };
}

function shownNotification({ webhookId: id, createdAt, dueAt, endedAt, ...one }: Notification) {
  const { receiver, type, event, status, attempts, lastStatus, lastCode } = one;
  const times = { createdAt: isoTime(createdAt), nextAttemptAt: isoTime(dueAt), endedAt: isoTime(endedAt) };
  return { id, receiver, type, event, status, attempts, ...times, lastStatus, lastCode };
}

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
  lastCode: Type.Optional(
    Type.String({
      description:
        'Why the last attempt had no answer: a code of the error table, or `body-expression` where the expression of `body` failed on the event.',
    }),
  ),
});

const listNotifications = route('GET /notifications', {
  ...catalogueReading,
  tag: 'operations',
  operationId: 'listNotifications',
  summary: 'List the receivers of notifications, and what was sent to them',
  description:
    'The receivers of the configuration in force, and their notifications of the last 7 days, the newest first. Of all gateways on the store.',
  query: {
    receiver: nameParameter('Only of this receiver.'),
    status: choiceParameter(notificationStatuses, 'Only with this status.'),
    ...pageParameters({ usual: 100, max: 1_000 }, (text) => (/^[1-9]\d{0,14}$/u.test(text) ? Number(text) : undefined), {
      limit: 'Most notifications in the reply.',
      cursor: '`cursor` of the reply before.',
    }),
  },
  reply: {
    description: 'A page; `cursor` if there are more.',
    schema: namedObject('NotificationPage', {
      receivers: Type.Array(receiverSchema),
      list: Type.Array(notificationSchema),
      cursor: Type.Optional(Type.String()),
    }),
  },
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
});
