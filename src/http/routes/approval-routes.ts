import { involvements } from '#access/people.ts';
import { approvalStatuses, isApprovalId } from '#approvals/approval.ts';
import type { ApprovalCatalogue, ApprovalRequest, SeenApproval } from '#approvals/approval-catalogue.ts';
import { factsAbout } from '#approvals/approval-events.ts';
import { obstacleCodes } from '#approvals/approval-people.ts';
import { Type } from '#base/json-schema.ts';
import { choiceParameter, nameParameter, pageParameters, readTimeCursor, writeTimeCursor } from '#base/text/query-parameters.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, route } from '../route.ts';
import { jsonBody } from '../route-body.ts';
import { agentClient } from './agent-client.ts';
import { type StampsCall, shownApproval } from './approval-texts.ts';
import { formatIn, formatQuery, previewFormatBody } from './calls/preview-routes.ts';
import { cursorPage, listReply, time } from './lists.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

/** The parameters of `GET /approvals`. */
const approvalListQuery = {
  status: choiceParameter(approvalStatuses, 'Only approvals with this status.'),
  run: nameParameter('Only approvals for which this run waits.'),
  automation: nameParameter('Only approvals of runs of the automation with this `_id` or name.', 'an `_id` or a name'),
  ...pageParameters({ usual: 100, max: 1_000 }, (text) => readTimeCursor(text, isApprovalId)),
};

/** Approvals of calls and of tasks. The catalogue decides who sees one and who decides about it. */
export function approvalRoutes(approvals: ApprovalCatalogue, stamps: StampsCall): readonly ApiRoute[] {
  const shown = (approval: SeenApproval) => shownApproval(approval, stamps);
  const decision = (
    declared: typeof grantApproval,
    decide: (request: ApprovalRequest & { readonly reason: string }) => Promise<SeenApproval>,
  ): ApiRoute =>
    declared.serve(async ({ params: { id }, body: { reason }, principal, record }) => {
      record.note({ approval: id, reason });
      const decided = await decide({ principal, id, reason });
      record.note(factsAbout(decided));
      return json(200, shown(decided));
    });
  return [
    listApprovals.serve(async ({ query: { limit, cursor: after, ...filter }, principal, ...request }) => {
      const { list, next, isCut } = await approvals.list({ principal, filter, page: { limit, after } });
      return listReply(
        request,
        { list: list.map((approval) => shownApproval(approval)), cursor: next && writeTimeCursor(next) },
        isCut,
      );
    }),
    readApproval.serve(async ({ params: { id }, principal }) => json(200, shown(await approvals.read({ principal, id })))),
    decision(grantApproval, (request) => approvals.grant(request)),
    decision(rejectApproval, (request) => approvals.reject(request)),
    previewApproval.serve(async ({ params: { id }, principal, record, ...request }) => {
      record.note({ approval: id });
      return json(200, shown(await approvals.preview({ principal, id, format: formatIn(request) })));
    }),
  ];
}

const text = Type.String();
const texts = Type.Array(text);
const optionalText = Type.Optional(text);
const textMembers = { type: 'object', additionalProperties: { type: 'string' } } as const;

const callSchema = namedObject('ApprovalCall', {
  route: Type.String({ description: 'The operationId of the route.' }),
  adapter: Type.Optional(Type.String({ description: 'Name of the adapter instance; a restCall has none.' })),
  method: text,
  path: Type.String({ description: 'The path at the orchestrator; for `restCall` the address.' }),
  headers: Type.Unknown({ ...textMembers, description: 'Headers that leave, with `***` in place of credentials.' }),
  user: Type.Optional(Type.String({ description: 'Of `restCall`; its password is not shown.' })),
  body: Type.Optional(Type.String({ description: 'The body as it would leave.' })),
  bodyEncoding: Type.Optional(Type.Literal('base64')),
  repeatable: Type.Optional(
    Type.Boolean({
      description: 'The writer of the workflow says that the call changes nothing, so that the run may repeat it.',
    }),
  ),
  stamped: Type.Optional(
    Type.Boolean({
      description:
        'The gateway adds a label and a comment to the commit (`adapters[].stamp`), which are not shown. Not in lists.',
    }),
  ),
  redacted: Type.Boolean({ description: 'True: `***` is in place of secrets of the workflow.' }),
  secrets: Type.Optional(
    Type.Array(
      namedObject('ApprovalSecret', {
        name: Type.String({ description: 'Its name in `automations.secrets`.' }),
        place: Type.String({ description: '`authentication`, `header:NAME`, `query`, `path` or `body`.' }),
      }),
      { description: 'The secrets of the workflow that the call carries.' },
    ),
  ),
});

const approvalSchema = namedObject('Approval', {
  id: text,
  status: Type.Enum([...approvalStatuses], {
    description: '`granted`: it has all of its grants and was not used. `used`: the call was made.',
  }),
  mayDecide: Type.Boolean({ description: 'The caller of this request may grant it.' }),
  whyNot: Type.Optional(
    namedObject('ApprovalObstacle', {
      code: Type.Enum([...obstacleCodes]),
      detail: Type.String({ description: 'The reason as a sentence.' }),
    }),
  ),
  principal: Type.String({ description: 'Who wants to make the call.' }),
  roles: texts,
  involved: Type.Array(
    namedObject('InvolvedPerson', {
      principal: text,
      as: Type.Array(Type.Enum([...involvements])),
    }),
    {
      description: 'Who had a hand in the call in addition to its caller. They may not grant it, unless the rule says otherwise.',
    },
  ),
  reason: Type.Optional(Type.String({ description: '`X-Reason` of the call.' })),
  client: agentClient,
  createdAt: time,
  expires: Type.String({
    format: 'date-time',
    description: 'From then on it can be neither granted nor used. Of one for a batch that was used: a day after the first use.',
  }),
  changedAt: Type.String({ format: 'date-time', description: 'When its status changed last.' }),
  run: Type.Optional(Type.String({ description: 'The run that waits, for those who may open it.' })),
  automation: Type.Optional(Type.String({ description: 'The name of the automation that runs.' })),
  workflow: Type.Optional(Type.String({ description: 'The workflow that runs.' })),
  task: Type.Optional(Type.String({ description: 'The place of its task in the workflow document.' })),
  message: Type.Optional(Type.String({ description: 'The question of a task `call: approval`.' })),
  batch: Type.Optional({
    ...namedObject('ApprovalBatch', {
      run: Type.Optional(Type.String({ description: 'The run with the batch, for those who may open it.' })),
      items: Type.Integer({ minimum: 0, description: 'How many items the batch has.' }),
      list: Type.Optional(
        Type.Array(
          namedObject('ApprovalItem', {
            index: Type.Integer({ minimum: 0 }),
            item: Type.String({ description: 'JSON text.' }),
          }),
          { description: 'All items. A list of approvals leaves them out.' },
        ),
      ),
      truncated: Type.Optional(Type.Boolean({ description: 'There are more items than fit into the reply.' })),
    }),
    description:
      'The rule has `covers: batch`: it is one decision for the calls of all items at this task, of which `call` is the first one.',
  }),
  call: Type.Optional(callSchema),
  rules: Type.Array(
    namedObject('ApprovalRule', {
      name: text,
      approvers: namedObject('Approvers', { roles: texts, groups: texts }),
      count: Type.Integer({ minimum: 1, description: 'How many different people must grant.' }),
      selfApproval: { enum: [false, 'authors', true] },
      grants: Type.Integer({ minimum: 0, description: 'Grants that count for the rule.' }),
      satisfied: Type.Boolean(),
    }),
    { description: 'All of them have to be satisfied.' },
  ),
  decisions: Type.Array(
    namedObject('ApprovalDecision', {
      as: Type.Enum(['granted', 'rejected']),
      principal: text,
      at: time,
      reason: text,
      rules: texts,
      withdrawn: Type.Optional(
        namedObject('ApprovalWithdrawal', { at: time, reason: Type.String({ description: 'Why the grant counts no more.' }) }),
      ),
    }),
  ),
  warnings: Type.Optional(Type.Array(text, { description: 'Rules that the known people cannot satisfy. Not in lists.' })),
  preview: Type.Optional(
    namedObject('ApprovalPreview', {
      kind: Type.String({ description: '`none` where there is none; `reason` says why.' }),
      text: optionalText,
      reason: optionalText,
      at: time,
    }),
  ),
  usedBy: Type.Optional(Type.String({ description: 'The id of the audit record of the call that was made.' })),
});

/** Why its approver may not decide again. */
const obstacles = {
  granted: { code: 'decided', detail: 'You have granted it already.' },
  rejected: { code: 'over', detail: 'The approval is over: it is rejected.' },
} as const;

const exampleCall = {
  route: 'restAction',
  adapter: 'Local NSO',
  method: 'POST',
  path: '/restconf/data/tailf-ncs:devices/device=ce0/sync-to',
  headers: { Accept: 'application/yang-data+json' },
};

const exampleRule = {
  name: 'core-changes',
  approvers: { roles: [], groups: ['noc-leads'] },
  count: 1,
  selfApproval: false,
  grants: 0,
  satisfied: false,
};

/** As a listing has it. */
const exampleListedApproval = {
  id: '019a9f3e-1c2b-7d4e-8f50-617283940516',
  status: 'waiting',
  mayDecide: true,
  principal: 'ann',
  roles: ['admin'],
  involved: [],
  reason: 'CHG-4711',
  createdAt: '2026-03-01T22:00:00.000Z',
  expires: '2026-03-02T02:00:00.000Z',
  changedAt: '2026-03-01T22:00:00.000Z',
  call: { ...exampleCall, redacted: false },
  rules: [exampleRule],
  decisions: [],
};

const exampleApproval = { ...exampleListedApproval, call: { ...exampleCall, body: '{}', redacted: false } };

/** The same after the decision of its one approver. */
function exampleDecided(as: 'granted' | 'rejected') {
  const at = '2026-03-01T22:05:00.000Z';
  const grants = as === 'granted' ? 1 : 0;
  const { id, status: _status, mayDecide: _mayDecide, ...rest } = exampleApproval;
  return {
    id,
    status: as,
    mayDecide: false,
    whyNot: obstacles[as],
    ...rest,
    changedAt: at,
    rules: [{ ...exampleRule, grants, satisfied: grants === 1 }],
    decisions: [{ as, principal: 'lea', at, reason: 'Checked with the change board.', rules: ['core-changes'] }],
  };
}

const params = { id: 'The id of the approval.' };

const listApprovals = route('GET /approvals', {
  ...catalogueReading,
  tag: 'approvals',
  operationId: 'listApprovals',
  summary: 'List approvals, the newest first',
  description:
    'Those that the caller asked for or may decide; with the role admin all of them. Bodies and previews are in `GET /approvals/:id` alone. A page may have fewer than its limit, or none, and still a `cursor`.',
  query: approvalListQuery,
  reply: cursorPage('ApprovalPage', approvalSchema),
  example: { query: { status: 'waiting', limit: 1 }, reply: { list: [exampleListedApproval] } },
});

const readApproval = route('GET /approvals/:id', {
  ...catalogueReading,
  tag: 'approvals',
  operationId: 'readApproval',
  summary: 'Read an approval: the call as it would leave, its preview and the decisions',
  params,
  reply: { description: 'The approval as it is now.', schema: approvalSchema },
  errors: ['approval-not-found'],
  example: { path: { id: exampleApproval.id }, reply: exampleApproval },
});

const decided = {
  ...catalogueChange,
  tag: 'approvals',
  params,
  body: jsonBody(
    namedObject('ApprovalReason', {
      reason: Type.String({ minLength: 1, maxLength: 2_000, description: 'Why; it is on record.' }),
    }),
  ),
  reply: { description: 'The approval after the decision.', schema: approvalSchema },
} as const;

const ended = ['approval-not-found', 'approval-used', 'approval-rejected', 'approval-expired', 'newer-version-needed'] as const;
const decisionExample = { path: { id: exampleApproval.id }, request: { reason: 'Checked with the change board.' } };

const grantApproval = route('POST /approvals/:id/grant', {
  ...decided,
  operationId: 'grantApproval',
  summary: 'Grant an approval',
  description:
    'Only approvers may grant. The grant counts for each rule of which the caller is an approver. A second grant of the same caller changes nothing.',
  errors: ['forbidden', ...ended, 'approval-granted'],
  example: { ...decisionExample, reply: exampleDecided('granted') },
});

const rejectApproval = route('POST /approvals/:id/reject', {
  ...decided,
  operationId: 'rejectApproval',
  summary: 'Reject an approval',
  description: 'Only approvers may reject. A rejection ends the approval, even one that was granted and not used yet.',
  errors: ['forbidden', ...ended],
  example: { ...decisionExample, reply: exampleDecided('rejected') },
});

const previewApproval = route('POST /approvals/:id/preview', {
  ...catalogueChange,
  tag: 'approvals',
  operationId: 'previewApproval',
  summary: 'Ask the orchestrator again what the call would do',
  description:
    'The preview replaces the earlier one. It changes nothing at the orchestrator, and the rate limit of the caller counts it. An approval that is over gets none (409).',
  params,
  query: formatQuery,
  body: jsonBody(previewFormatBody, { optional: true }),
  reply: { description: 'The approval with its new preview.', schema: approvalSchema },
  errors: ended,
  example: {
    path: { id: exampleApproval.id },
    request: { format: 'native' },
    reply: {
      ...exampleApproval,
      preview: { kind: 'native', text: 'interface Loopback0\n description core\n', at: '2026-03-01T22:01:00.000Z' },
    },
  },
});
