import type { AuditReader } from '#audit/audit-reader.ts';
import { type AuditVerdict, readVerifiedPlace, writeVerifiedPlace } from '#audit/chain/audit-verification.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { Semaphore } from '#base/semaphore.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { jsonBody } from '../route-body.ts';
import { count, isoTime } from './lists.ts';
import { operatorAction } from './route-traits.ts';

/** Milliseconds: how long one request verifies, and how long it waits for its turn. */
const maxPartDuration = 2_000;
const maxWait = 10_000;

const timeOf = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

const checkpointSchema = namedObject('AuditCheckpoint', {
  chain: Type.String(),
  seq: count,
  mac: Type.String(),
  // The latest time of a Date (ECMAScript 21.4.1.1).
  at: Type.Integer({ minimum: 0, maximum: 8.64e15, description: 'Milliseconds since the epoch.' }),
  signature: Type.String(),
  time: Type.Optional(Type.String({ description: 'The same as `at`, for readers.' })),
});

const lostEntries = namedObject('AuditLoss', { chain: Type.String(), from: count, to: count });

const lossSchema = namedObject('AuditLossStatement', {
  lost: lostEntries,
  signature: Type.String(),
});

const requestSchema = namedObject('AuditVerificationRequest', {
  cursor: Type.Optional(Type.String({ description: '`cursor` of the part before; absent: from the beginning of the log.' })),
  checkpoints: Type.Optional(
    Type.Array(Type.Union([checkpointSchema, lossSchema]), {
      maxItems: 1_000,
      description:
        'What was kept elsewhere: lines of `audit.checkpointFile`, checkpoints and what a gateway says that the store lost. Each has to be sent once, all of them with one request.',
    }),
  ),
});

const replySchema = namedObject('AuditVerification', {
  chains: Type.Integer({ minimum: 0, description: 'Chains that were verified to their end.' }),
  records: count,
  checkpoints: count,
  from: timeOf('Of the earliest of these records.'),
  to: timeOf('Of the latest of these records.'),
  problems: Type.Array(Type.String(), {
    description: 'Of each chain the first record that was changed, removed, inserted, swapped or cut off. Empty: none was.',
  }),
  lost: Type.Array(lostEntries, {
    description:
      'Records that the store lost with commits, as a gateway noticed: the numbers of the first and the last entry. They are no problem.',
  }),
  cursor: Type.Optional(Type.String({ description: 'The log goes on: `cursor` of the next part.' })),
});

const verifyAudit = route('POST /audit/verify', {
  ...operatorAction,
  tag: 'operations',
  operationId: 'verifyAudit',
  summary: 'Verify that the audit log was not tampered with',
  description:
    'Does what the command `audit verify` does, in parts: one request verifies for 2 seconds at most. Call again with the `cursor` of the reply until there is none; the result is the sum of the parts. A gateway verifies one part at a time. Other requests wait, and get 503 `overloaded` after 10 seconds.',
  body: jsonBody(requestSchema, {
    optional: true,
    judge(given) {
      const { cursor } = (given ?? {}) as Readonly<Record<string, unknown>>;
      if (typeof cursor !== 'string' || readVerifiedPlace(cursor) !== undefined) return { problems: [] };
      const detail = 'is not a cursor of this route; take it from the reply before as it is';
      return { problems: [{ pointer: '/cursor', detail }] };
    },
  }),
  reply: { description: 'What this part found; `cursor` if the log goes on.', schema: replySchema },
  errors: ['overloaded'],
  example: {
    request: {},
    reply: {
      chains: 1,
      records: 4_120,
      checkpoints: 0,
      from: '2026-11-21T08:15:30.012Z',
      to: '2026-11-24T17:02:11.480Z',
      problems: ['mi5c2k1q-5f0c9be31a42/7 was changed'],
      lost: [],
    },
  },
});

/** Verifies the audit log in parts. A gateway verifies one at a time. */
export function auditVerificationRoute(reader: Pick<AuditReader, 'verify'>): ApiRoute {
  const turns = new Semaphore(1);
  return verifyAudit.serve(async ({ body: { cursor, checkpoints = [] }, context }) => {
    const part = async (): Promise<AuditVerdict> => {
      const { clock } = context.record;
      let hasLeft = false;
      context.whenEnded(() => {
        hasLeft = true;
      });
      // It left while it waited for its turn.
      if (hasLeft) throw new CallerLeft();
      const until = clock.monotonic() + maxPartDuration;
      return await reader.verify({
        after: cursor === undefined ? undefined : readVerifiedPlace(cursor),
        checkpoints,
        mayGoOn: () => !hasLeft && clock.monotonic() < until,
      });
    };
    return json(200, showVerdict(await turns.run(part, { limit: maxWait, late })));
  });
}

function showVerdict({ from, to, next, ...verdict }: AuditVerdict) {
  return { ...verdict, from: isoTime(from), to: isoTime(to), cursor: next && writeVerifiedPlace(next) };
}

function late(): GatewayError {
  const detail = 'This gateway verifies the audit log for another caller. Try again in a moment.';
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '1' } });
}
