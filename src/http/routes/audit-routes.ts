import { auditOutcomes } from '#audit/audit-entry.ts';
import { auditPage, readAuditQuery } from '#audit/audit-query.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import { Type } from '#base/json-schema.ts';
import { json, type Route, type RouteDocs } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { auditVerificationRoute } from './audit-verification-route.ts';
import { operatorAction } from './route-traits.ts';

const text = Type.Optional(Type.String());
const count = Type.Optional(Type.Integer({ minimum: 0 }));

/** An object of the gateway, by its `_id` and its name. */
const named = (title: string, description: string, more: Parameters<typeof Type.Object>[0] = {}) =>
  Type.Optional(
    Type.Object({ _id: Type.String(), name: Type.String(), ...more }, { additionalProperties: false, title, description }),
  );

const record = namedObject('AuditRecord', {
  id: Type.String({
    description:
      'Chain and place in it, as `audit verify` names them. Records that were written together also have `.` and a number.',
  }),
  time: Type.String({
    format: 'date-time',
    description: 'Of a state-changing call: before it left; of all else: when it had ended.',
  }),
  event: Type.Enum(['request', 'start', 'end', 'configuration', 'dropped', 'skipped', 'expired', 'withdrawn']),
  requestId: text,
  traceId: text,
  principal: text,
  issuer: Type.Optional(Type.String({ description: 'The OpenID Connect issuer of the principal.' })),
  subject: Type.Optional(Type.String({ description: 'The subject of the principal at its issuer.' })),
  roles: Type.Optional(Type.Array(Type.String())),
  sourceAddress: text,
  route: text,
  adapter: text,
  verb: text,
  address: Type.Optional(Type.String({ description: 'Address or path; the values of its query are masked.' })),
  automation: named(
    'RecordedAutomation',
    'The automation that the request created, changed, deleted or ran, whose run it changed, or that was skipped.',
  ),
  imported: Type.Optional(
    Type.Object(
      { documents: Type.Integer({ minimum: 0 }), ids: Type.Array(Type.String()) },
      {
        additionalProperties: false,
        title: 'RecordedImport',
        description: 'What the request imported: how many automations, and the `_id`s of the first hundred.',
      },
    ),
  ),
  due: Type.Optional(Type.String({ format: 'date-time', description: 'When an automation that was skipped was due.' })),
  workflow: named(
    'RecordedWorkflow',
    'The workflow that the request stored, took or deleted; without `version` all of its versions. `tombstone`: the request removed the tombstone of a deleted version.',
    { version: Type.Optional(Type.String()), tombstone: Type.Optional(Type.Boolean()) },
  ),
  run: named('ChangedRun', 'The run that the request started, or changed; `name` is that of its automation.'),
  via: Type.Optional(
    Type.Object(
      { run: Type.String(), task: Type.Optional(Type.String()), id: Type.Optional(Type.String()) },
      {
        additionalProperties: false,
        title: 'RecordedRun',
        description: 'The run that made the call, the place of its task in the workflow document, and the id of the task.',
      },
    ),
  ),
  repeatable: Type.Optional(
    Type.Boolean({ description: 'The writer of the workflow says that the call changes nothing: the run may repeat it.' }),
  ),
  preview: Type.Optional(
    Type.Enum(['native', 'cli', 'xml'], {
      description: 'Of a call that asked the orchestrator for a dry run: the format. It was sent as a dry run alone.',
    }),
  ),
  form: named('RecordedForm', 'The form that the request stored or deleted.'),
  approval: named(
    'RecordedApproval',
    'The approval that the call asked for or used, that the request decided, that expired, or that lost a grant. `name`: method and address of the call that it is about, or the question.',
  ),
  reason: Type.Optional(
    Type.String({ description: 'Why a person decided so: the `reason` of the request, at most 500 characters.' }),
  ),
  redirects: Type.Optional(Type.Array(Type.String())),
  decision: Type.Optional(Type.Enum(['allowed', 'denied'])),
  rule: Type.Optional(Type.String({ description: 'The configured rule that allowed or refused the call.' })),
  attempts: count,
  upstreamStatus: count,
  status: count,
  code: text,
  replays: Type.Optional(Type.String({ description: 'The `requestId` of the request whose reply was replayed.' })),
  outcome: Type.Optional(Type.Enum([...auditOutcomes])),
  count: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many refusals this record counts; they have no record of their own.' }),
  ),
  bytesSent: count,
  bytesReceived: count,
  durationMs: Type.Optional(Type.Number({ minimum: 0 })),
  detail: Type.Optional(Type.String({ description: 'Of an event: what happened; of a 401 or 403: the sentence of the reply.' })),
});

const queryParameters: NonNullable<RouteDocs['queryParameters']> = [
  { name: 'from', description: 'Only records of this time or later (RFC 3339).', schema: Type.String({ format: 'date-time' }) },
  { name: 'to', description: 'Only records of this time or earlier (RFC 3339).', schema: Type.String({ format: 'date-time' }) },
  { name: 'principal', description: 'Only records of the principal with this name.', schema: Type.String() },
  { name: 'adapter', description: 'Only calls to this adapter instance.', schema: Type.String() },
  {
    name: 'address',
    description:
      'Only records that have this text in their address, or in `_id` or `name` of `automation`, `workflow`, `form`, `approval` or `run`, such as the name of a device.',
    schema: Type.String(),
  },
  { name: 'outcome', description: 'Only calls with this outcome.', schema: Type.Enum([...auditOutcomes]) },
  {
    name: 'limit',
    description: 'Most records on the page.',
    schema: Type.Integer({ minimum: 1, maximum: auditPage.most, default: auditPage.usual }),
  },
  {
    name: 'cursor',
    description: '`cursor` of the previous page, unchanged; the filters must stay the same.',
    schema: Type.String(),
  },
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

/** The audit log, for administrators. */
export function auditRoutes(reader: AuditReader): readonly Route[] {
  return [
    {
      method: 'GET',
      url: '/audit',
      // readAuditQuery checks names and values together, so that one reply lists all problems.
      query: () => true,
      async handle({ query, reached }) {
        const read = readAuditQuery(query);
        if ('problems' in read) throw invalidRequest(read.problems);
        const { list, cursor, isCut } = await reader.list(read.query);
        if (isCut === true) reached('page');
        return json(200, { list, cursor });
      },
      ...operatorAction,
      docs: {
        tag: 'operations',
        operationId: 'listAudit',
        summary: 'List the audit log: who did what, with the outcome, newest first',
        description:
          'A state-changing call without an `outcome` is in flight. Its outcome becomes `unknown` once its gateway has ended or its time limit has passed. A page may have fewer records than its limit, or none, and still a `cursor`: one request reads 20,000 records at most.',
        queryParameters,
        success: {
          status: 200,
          description: 'The records; `cursor` if there may be more.',
          schema: namedObject('AuditPage', { list: Type.Array(record), cursor: text }),
        },
        errors: [],
        example,
      },
    },
    auditVerificationRoute(reader),
  ];
}
