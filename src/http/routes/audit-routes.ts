import { auditOutcomes } from '#audit/audit-entry.ts';
import { auditPage, readAuditQuery } from '#audit/audit-query.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import { Type } from '#base/json-schema.ts';
import { json, type Route, type RouteDocs } from '#http/route.ts';
import { closedObject } from '#json/closed-object.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { operatorAction } from './route-traits.ts';

const text = Type.Optional(Type.String());
const count = Type.Optional(Type.Integer({ minimum: 0 }));

const record = closedObject({
  id: Type.String({
    description:
      'Chain and place in it, as `audit verify` names it; of records that were written together `.` and a number behind it.',
  }),
  time: Type.String({
    format: 'date-time',
    description: 'Of a state-changing call before it left, of everything else once it was over.',
  }),
  event: Type.Enum(['request', 'start', 'end', 'configuration', 'dropped']),
  requestId: text,
  traceId: text,
  principal: text,
  roles: Type.Optional(Type.Array(Type.String())),
  sourceAddress: text,
  route: text,
  adapter: text,
  verb: text,
  address: Type.Optional(Type.String({ description: 'Address, or path, with the values of its query masked.' })),
  redirects: Type.Optional(Type.Array(Type.String())),
  decision: Type.Optional(Type.Enum(['allowed', 'denied'])),
  rule: text,
  attempts: count,
  upstreamStatus: count,
  status: count,
  code: text,
  replays: Type.Optional(Type.String({ description: 'The `requestId` of the request whose reply was sent once more.' })),
  outcome: Type.Optional(Type.Enum([...auditOutcomes])),
  bytesSent: count,
  bytesReceived: count,
  durationMs: Type.Optional(Type.Number({ minimum: 0 })),
  detail: text,
});

const queryParameters: NonNullable<RouteDocs['queryParameters']> = [
  { name: 'from', description: 'Only records of this time or later (RFC 3339).', schema: Type.String({ format: 'date-time' }) },
  { name: 'to', description: 'Only records of this time or earlier (RFC 3339).', schema: Type.String({ format: 'date-time' }) },
  { name: 'principal', description: 'Only what the principal of this name did.', schema: Type.String() },
  { name: 'adapter', description: 'Only calls to this adapter instance.', schema: Type.String() },
  { name: 'outcome', description: 'Only calls that ended so.', schema: Type.Enum([...auditOutcomes]) },
  {
    name: 'limit',
    description: 'Records on the page, at most.',
    schema: Type.Integer({ minimum: 1, maximum: auditPage.most, default: auditPage.usual }),
  },
  { name: 'cursor', description: '`cursor` of the page before, as it is; the filters stay the same.', schema: Type.String() },
];

const example = {
  query: { outcome: 'ok', limit: 1 },
  reply: {
    list: [
      {
        id: 'mi5c2k1q-5f0c9be31a42/7',
        time: '2026-11-21T08:15:30.012Z',
        event: 'request',
        requestId: '0b1f6a52-3c39-4c8e-9c41-0f2f2f7d8f11',
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        principal: 'admin',
        roles: ['admin'],
        sourceAddress: '192.0.2.10',
        route: 'POST /orchestrator_manager/restAction/:adapterId',
        adapter: 'Local NSO',
        verb: 'POST',
        address: 'restconf/operations/devices/sync-from',
        decision: 'allowed',
        rule: 'allowPaths.actions',
        attempts: 1,
        upstreamStatus: 200,
        status: 200,
        outcome: 'ok',
        bytesSent: 0,
        bytesReceived: 41,
        durationMs: 212.4,
      },
    ],
    cursor: 'WzE3NjM3MTI5MzAwMTIsIm1pNWMyazFxLTVmMGM5YmUzMWE0MiIsN10',
  },
};

/** Who did what, for whoever answers for it. */
export function auditRoutes(reader: AuditReader): readonly Route[] {
  return [
    {
      method: 'GET',
      url: '/audit',
      access: ['admin'],
      // The query judges names and values together, so that every problem is told at once.
      query: () => true,
      async handle({ query }) {
        const read = readAuditQuery(query);
        if ('query' in read) return json(200, await reader.list(read.query));
        throw invalidRequest(read.problems);
      },
      ...operatorAction,
      docs: {
        tag: 'operations',
        operationId: 'listAudit',
        summary: 'Who did what, and what came of it: the audit log, newest first',
        description:
          'A state-changing call without an outcome whose gateway is gone, or whose time is over, has the outcome `unknown`; one without an outcome is under way. A page may hold fewer records than its limit, or none, and have a `cursor`: one request looks at 20,000 records at most.',
        queryParameters,
        success: {
          status: 200,
          description: 'The records; `cursor` where there may be more.',
          schema: closedObject({ list: Type.Array(record), cursor: text }),
        },
        errors: [],
        example,
      },
    },
  ];
}
