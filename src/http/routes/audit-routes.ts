import { auditOutcomes } from '#audit/audit-entry.ts';
import { auditListQuery, auditQueryOf } from '#audit/audit-query.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type MemberSchemas, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { agentClient } from './agent-client.ts';
import { auditVerificationRoute } from './audit-verification-route.ts';
import { cursorPage, listReply } from './lists.ts';
import { operatorAction } from './route-traits.ts';

/** The audit log, for administrators. */
export function auditRoutes(reader: AuditReader): readonly ApiRoute[] {
  return [
    listAudit.serve(async ({ query, ...request }) => {
      const { list, cursor, isCut } = await reader.list(auditQueryOf(query));
      return listReply(request, { list, cursor }, isCut);
    }),
    readBody.serve(async ({ params: { id } }) => {
      const body = await reader.body(id);
      if (body === undefined) throw new GatewayError('body-not-found', 'The audit log has no body with this id.');
      return json(200, body);
    }),
    auditVerificationRoute(reader),
  ];
}

const text = Type.Optional(Type.String());
const count = Type.Optional(Type.Integer({ minimum: 0 }));

/** An object of the gateway, by its `_id` and its name. */
const named = (title: string, description: string, more: MemberSchemas = {}) =>
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
  event: Type.Enum(['request', 'start', 'end', 'configuration', 'dropped', 'skipped', 'expired', 'withdrawn', 'decided', 'lost']),
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
    'The automation that the request created, changed, deleted or ran, whose run it changed or let go on, or that was skipped.',
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
  run: named(
    'ChangedRun',
    'The run that the request started or changed, or whose approval it decided; `name` is that of its automation.',
  ),
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
  client: agentClient,
  actsAs: Type.Optional(
    Type.Object(
      { name: Type.String(), groups: Type.Array(Type.String()) },
      {
        additionalProperties: false,
        title: 'RecordedIdentity',
        description: 'The caller at the orchestrator (`auth: caller`): the name and the groups there.',
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
  devices: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 100,
      description: 'The devices that the change names: after `device=` in its path, and those of its preview.',
    }),
  ),
  bodySha256: Type.Optional(
    Type.String({ description: 'SHA-256 of the text that the change sent, as `GET /audit/:id/body` shows it, but whole.' }),
  ),
  keptSha256: Type.Optional(
    Type.String({ description: 'The same of the beginning that the log keeps, where the text was too long to be kept whole.' }),
  ),
  stamp: Type.Optional(
    Type.Object(
      { label: Type.Optional(Type.String()), comment: Type.String() },
      {
        additionalProperties: false,
        title: 'RecordedStamp',
        description:
          'What the gateway added to the commit (`adapters[].stamp`). A label of the caller stays, and then there is no other one.',
      },
    ),
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
  lost: Type.Optional(
    Type.Object(
      { chain: Type.String(), from: Type.Integer({ minimum: 1 }), to: Type.Integer({ minimum: 1 }), records: count },
      {
        additionalProperties: false,
        title: 'LostEntries',
        description: 'Of `lost`: the entries that the store had acknowledged and lost, and how many records they held.',
      },
    ),
  ),
  detail: Type.Optional(Type.String({ description: 'Of an event: what happened; of a 401 or 403: the sentence of the reply.' })),
});

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

const listAudit = route('GET /audit', {
  ...operatorAction,
  tag: 'operations',
  operationId: 'listAudit',
  summary: 'List the audit log: who did what, with the outcome, newest first',
  description:
    'A state-changing call without an `outcome` is in flight. Its outcome becomes `unknown` once its gateway has ended or its time limit has passed. A page may have fewer records than its limit, or none, and still a `cursor`. One request looks at 260,000 records at most, reads 20,000 of them, and begins no further part after 0.6 s.',
  query: auditListQuery,
  reply: cursorPage('AuditPage', record),
  example,
});

const readBody = route('GET /audit/:id/body', {
  ...operatorAction,
  tag: 'operations',
  operationId: 'readAuditBody',
  summary: 'Read what a change sent',
  description:
    'The gateway keeps the body of each change that leaves (`audit.bodies`): with placeholders in place of the secrets of workflows, and with `***` for credentials and for members that `audit.mask` names. Compare `sha256` with `bodySha256` of the record.',
  params: { id: 'The `id` of the record, with `_` in place of `/`.' },
  reply: {
    description: 'The body. A longer one than 64 KiB is `truncated` to whole characters.',
    schema: namedObject('AuditBody', {
      body: Type.String({ description: 'As it was sent, but masked: JSON, XML, a form or another text.' }),
      sha256: Type.String({ description: 'SHA-256 of the whole masked text, in hexadecimal digits.' }),
      truncated: Type.Optional(Type.Boolean()),
    }),
  },
  errors: ['body-not-found'],
  example: {
    path: { id: 'mi5c2k1q-5f0c9be31a42_7' },
    reply: {
      body: '{"tailf-ncs:device":[{"name":"ce0","authgroup":"default","password":"***"}]}',
      sha256: '0d8b3b6dd03f2fb4b7b9f8c3f3a3e7f6a5ff5a4d3a0b4f1c9c1cb9f0d6a1e2b7',
    },
  },
});
