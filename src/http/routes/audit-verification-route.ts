import type { AuditReader } from '#audit/audit-reader.ts';
import type { AuditVerdict } from '#audit/audit-verification.ts';
import type { Checkpoint } from '#audit/checkpoint.ts';
import { readVerifiedPlace, writeVerifiedPlace } from '#audit/verified-place.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { Semaphore } from '#base/semaphore.ts';
import { type JsonBody, json, type Route, type RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { operatorAction } from './route-traits.ts';

/** Milliseconds: how long one request verifies, and how long it waits for its turn. */
const longestPart = 2_000;
const longestWait = 10_000;

const count = Type.Integer({ minimum: 0 });
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

const checkpointSchema = namedObject('AuditCheckpoint', {
  chain: Type.String(),
  seq: Type.Integer({ minimum: 0 }),
  mac: Type.String(),
  // The latest time of a Date (ECMAScript 21.4.1.1).
  at: Type.Integer({ minimum: 0, maximum: 8.64e15, description: 'Milliseconds since the epoch.' }),
  signature: Type.String(),
  time: Type.Optional(Type.String({ description: 'The same as `at`, for readers.' })),
});

const requestSchema = namedObject('AuditVerificationRequest', {
  cursor: Type.Optional(Type.String({ description: '`cursor` of the part before; absent: from the beginning of the log.' })),
  checkpoints: Type.Optional(
    Type.Array(checkpointSchema, {
      maxItems: 1_000,
      description: 'Checkpoints that were kept elsewhere: lines of `audit.checkpointFile`. Each has to be sent once.',
    }),
  ),
});

interface VerificationRequest {
  readonly cursor?: string;
  readonly checkpoints?: readonly Checkpoint[];
}

const replySchema = namedObject('AuditVerification', {
  chains: Type.Integer({ minimum: 0, description: 'Chains that were verified to their end.' }),
  records: count,
  checkpoints: count,
  from: time('Of the earliest of these records.'),
  to: time('Of the latest of these records.'),
  problems: Type.Array(Type.String(), {
    description: 'Of each chain the first record that was changed, removed, inserted, swapped or cut off. Empty: none was.',
  }),
  cursor: Type.Optional(Type.String({ description: 'The log goes on: `cursor` of the next part.' })),
});

const requestBody: JsonBody = {
  kind: 'json',
  optional: true,
  schema: requestSchema,
  judge(given) {
    const { cursor } = (given ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof cursor !== 'string' || readVerifiedPlace(cursor) !== undefined) return { problems: [] };
    const detail = 'is not a cursor of this route; take it from the reply before as it is';
    return { problems: [{ pointer: '/cursor', detail }] };
  },
};

/** Verifies the audit log in parts. A gateway verifies one at a time. */
export function auditVerificationRoute(reader: Pick<AuditReader, 'verify'>): Route {
  const turns = new Semaphore(1);
  return {
    method: 'POST',
    url: '/audit/verify',
    body: requestBody,
    async handle(request) {
      return json(200, shown(await turns.run(() => verifiedPart(reader, request), { limit: longestWait, late })));
    },
    ...operatorAction,
    docs: {
      tag: 'operations',
      operationId: 'verifyAudit',
      summary: 'Verify that the audit log was not tampered with',
      description:
        'Does what the command `audit verify` does, in parts: one request verifies for 2 seconds at most. Call again with the `cursor` of the reply until there is none; the result is the sum of the parts. A gateway verifies one part at a time. Other requests wait, and get 503 `overloaded` after 10 seconds.',
      success: { status: 200, description: 'What this part found; `cursor` if the log goes on.', schema: replySchema },
      errors: ['overloaded', 'store-unavailable'],
      example: {
        request: {},
        reply: {
          chains: 1,
          records: 4_120,
          checkpoints: 0,
          from: '2026-11-21T08:15:30.012Z',
          to: '2026-11-24T17:02:11.480Z',
          problems: ['mi5c2k1q-5f0c9be31a42/7 was changed'],
        },
      },
    },
  };
}

async function verifiedPart(reader: Pick<AuditReader, 'verify'>, { body, context }: RouteRequest): Promise<AuditVerdict> {
  const { cursor, checkpoints = [] } = body as VerificationRequest;
  const { clock } = context.record;
  let hasLeft = false;
  context.whenEnded(() => {
    hasLeft = true;
  });
  // It left while it waited for its turn.
  if (hasLeft) throw new CallerLeft();
  const until = clock.monotonic() + longestPart;
  return await reader.verify({
    after: cursor === undefined ? undefined : readVerifiedPlace(cursor),
    checkpoints,
    mayGoOn: () => !hasLeft && clock.monotonic() < until,
  });
}

function shown({ from, to, next, ...verdict }: AuditVerdict): object {
  const iso = (at: number | undefined): string | undefined => (at === undefined ? undefined : new Date(at).toISOString());
  return { ...verdict, from: iso(from), to: iso(to), cursor: next && writeVerifiedPlace(next) };
}

function late(): GatewayError {
  const detail = 'This gateway verifies the audit log for another caller. Try again in a moment.';
  return new GatewayError('overloaded', detail, { headers: { 'Retry-After': '1' } });
}
