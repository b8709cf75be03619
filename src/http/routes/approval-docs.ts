import { involvements } from '#access/people.ts';
import { approvalStatuses } from '#approvals/approval.ts';
import { approvalPageSize } from '#approvals/approval-list-query.ts';
import { obstacleCodes } from '#approvals/approval-people.ts';
import { Type } from '#base/json-schema.ts';
import type { RouteDocs } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';

const text = Type.String();
const texts = Type.Array(text);
const time = Type.String({ format: 'date-time' });
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

export const approvalSchema = namedObject('Approval', {
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
  createdAt: time,
  expires: Type.String({ format: 'date-time', description: 'From then on it can be neither granted nor used.' }),
  changedAt: Type.String({ format: 'date-time', description: 'When its status changed last.' }),
  run: Type.Optional(Type.String({ description: 'The run that waits, for those who may open it.' })),
  automation: Type.Optional(Type.String({ description: 'The name of the automation that runs.' })),
  workflow: Type.Optional(Type.String({ description: 'The workflow that runs.' })),
  task: Type.Optional(Type.String({ description: 'The place of its task in the workflow document.' })),
  message: Type.Optional(Type.String({ description: 'The question of a task `call: approval`.' })),
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

export const approvalPageSchema = namedObject('ApprovalPage', {
  list: Type.Array(approvalSchema),
  cursor: Type.Optional(Type.String({ description: 'There may be more: `cursor` of the next page.' })),
});

export const decisionSchema = namedObject('ApprovalReason', {
  reason: Type.String({ minLength: 1, maxLength: 2_000, description: 'Why; it is on record.' }),
});

export const approvalParameter = { id: 'The id of the approval.' };

export const approvalListParameters: NonNullable<RouteDocs['queryParameters']> = [
  { name: 'status', description: 'Only approvals with this status.', schema: Type.Enum([...approvalStatuses]) },
  { name: 'run', description: 'Only approvals for which this run waits.', schema: text },
  {
    name: 'limit',
    description: 'Size of the page.',
    schema: Type.Integer({ minimum: 1, maximum: approvalPageSize.most, default: approvalPageSize.usual }),
  },
  { name: 'cursor', description: '`cursor` of the previous page, unchanged; the filters must stay the same.', schema: text },
];

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
export const exampleListedApproval = {
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

export const exampleApproval = { ...exampleListedApproval, call: { ...exampleCall, body: '{}', redacted: false } };

/** The same after the decision of its one approver. */
export function exampleDecided(as: 'granted' | 'rejected') {
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

/** Why its approver may not decide again. */
const obstacles = {
  granted: { code: 'decided', detail: 'You have granted it already.' },
  rejected: { code: 'over', detail: 'The approval is over: it is rejected.' },
} as const;
