import { visible, visibleLines } from '#base/text/visible.ts';
import type { Approval, ListApprovalsData } from '#client/gateway.ts';
import type { Command } from '../../command.ts';
import { answeringCommand, givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { taskPath } from '../../texts/run-words.ts';
import { type Fact, factLines, shortTime } from '../../texts/text-table.ts';

export const approvalList = listCommand<Approval>({
  name: 'approvals list',
  summary: 'list calls that people must approve',
  description: [
    'List approvals, the newest first: those that you asked for or may decide, and all of them with the role',
    'admin. They have every field but the bodies and the previews.',
  ],
  options: {
    status: { value: 'STATUS', default: 'waiting', meaning: 'only approvals with this status, or "all"' },
    run: { value: 'RUN', meaning: 'only approvals for which this run waits' },
    limit: { ...limitOption, default: 'all' },
  },
  what: 'approvals',
  columns: [
    { title: 'APPROVAL', cell: ({ id }) => id },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'YOURS', cell: ({ mayDecide }) => (mayDecide ? 'to decide' : undefined), dropped: 3 },
    { title: 'ASKED BY', cell: ({ principal }) => principal, dropped: 2 },
    { title: 'EXPIRES', cell: ({ expires }) => shortTime(expires), dropped: 4 },
    { title: 'ADAPTER', cell: ({ call }) => call?.adapter, dropped: 5 },
    { title: 'WHAT', cell: ({ call, message }) => (call === undefined ? message : `${call.method} ${call.path}`) },
  ],
  rows({ gateway, given }) {
    const names = given.option('status') === 'all' ? (['run'] as const) : (['run', 'status'] as const);
    const query = givenOptions<NonNullable<ListApprovalsData['query']>>(given, names);
    return gateway.each.listApprovals({ query: { ...query, limit: pageSize(given) } });
  },
});

export const approvalGrant = decidingCommand('approvals grant', 'grantApproval', {
  summary: 'let a call leave',
  what: 'Grant an approval. Once all of its rules are satisfied, its caller can make the call, once.',
});

export const approvalReject = decidingCommand('approvals reject', 'rejectApproval', {
  summary: 'refuse a call',
  what: 'Reject an approval, also one that was granted and not used yet. The reason goes to its caller.',
});

function decidingCommand(
  name: string,
  operation: 'grantApproval' | 'rejectApproval',
  { summary, what }: { readonly summary: string; readonly what: string },
): Command {
  return answeringCommand({
    name,
    summary,
    description: [what, 'Print the state of the approval. You have to be one of its approvers.'],
    options: { reason: { value: 'TEXT', meaning: 'why; on record', isRequired: true } },
    operands: ['APPROVAL'],
    async answer({ gateway, given }) {
      const path = { id: given.operand('APPROVAL') };
      const { value } = await gateway[operation]({ path, body: { reason: given.option('reason') } });
      const missing = value.rules
        .filter(({ satisfied }) => !satisfied)
        .map((rule) => `${rule.name} ${rule.grants} of ${rule.count}`);
      const rest = value.status === 'waiting' ? `: ${missing.join(', ')}` : '';
      return { value, lines: [visible(`${value.status}${rest}`)] };
    },
  });
}

export const approvalShow = answeringCommand({
  name: 'approvals show',
  summary: 'print a call that people must approve',
  description: [
    'Print an approval: the call as it would leave with its exact body, what the orchestrator says that it would',
    'do, the rules and the decisions. Credentials and secrets are ***.',
  ],
  flags: { preview: 'ask the orchestrator again what the call would do' },
  operands: ['APPROVAL'],
  async answer({ context, gateway, given }) {
    const path = { id: given.operand('APPROVAL') };
    const approval = exact(await (given.flag('preview') ? gateway.previewApproval({ path }) : gateway.readApproval({ path })));
    return { value: approval, lines: linesOf(approval, context.invocation) };
  },
});

function linesOf(approval: Approval, invocation: string): readonly string[] {
  const { call, batch, rules, decisions, preview, warnings = [] } = approval;
  return [
    ...factLines(factsOf(approval)),
    ...(call === undefined ? [] : ['', ...callLines(call)]),
    ...(preview === undefined ? [] : ['', ...previewLines(preview)]),
    ...(batch === undefined ? [] : ['', ...batchLines(batch)]),
    '',
    ...rules.map(ruleLine),
    ...decisions.map(decisionLine),
    ...warnings.map((warning) => visible(`warning: ${warning}`)),
    ...whatToType(approval, invocation),
  ];
}

function factsOf({
  id,
  status,
  usedBy,
  principal,
  roles,
  reason,
  createdAt,
  expires,
  involved,
  automation,
  workflow,
  run,
  task,
  message,
}: Approval): readonly Fact[] {
  return [
    ['approval', id],
    ['status', usedBy === undefined ? status : `${status} by the call of the audit record ${usedBy}`],
    ['asked by', `${principal} (${roles.join(', ') || 'no role'}) at ${createdAt}`],
    ['expires', expires],
    ['reason', reason],
    ['hand in it', involved.map(({ principal: name, as }) => `${name} (${as.join(', ')})`).join(', ') || undefined],
    ['automation', automation],
    ['workflow', workflow],
    ['task', task === undefined ? undefined : taskPath(task)],
    ['run', run],
    ['question', message],
  ];
}

function callLines({
  adapter,
  method,
  path,
  headers,
  user,
  body,
  bodyEncoding,
  redacted,
  secrets = [],
}: NonNullable<Approval['call']>): readonly string[] {
  const where = adapter === undefined ? '' : `  at ${adapter}`;
  return [
    `${visible(`${method} ${path}`)}${visible(where)}`,
    ...Object.entries(headers).map(([name, value]) => visible(`${name}: ${value}`)),
    ...(user === undefined ? [] : [visible(`user: ${user}`)]),
    ...(body === undefined ? [] : ['', ...visibleLines(body)]),
    ...(bodyEncoding === undefined ? [] : ['(the body is in base64)']),
    ...secrets.map(({ name, place }) => visible(`carries the secret ${name}: ${place}`)),
    ...(redacted ? ['(*** is in place of secrets of the workflow)'] : []),
  ];
}

function previewLines({ kind, text, reason, at }: NonNullable<Approval['preview']>): readonly string[] {
  if (kind === 'none') return [`No preview: ${visible(reason ?? '')}`];
  return [
    `What the orchestrator says that it would do (${visible(kind)}, ${at}):`,
    ...visibleLines(text === '' ? 'nothing' : (text ?? '')),
  ];
}

function batchLines({ items, list = [], truncated }: NonNullable<Approval['batch']>): readonly string[] {
  return [
    `It is one decision for the calls of ${items} items, of which this is the first one. The items:`,
    ...list.map(({ index, item }) => visible(`${String(index).padStart(5)}  ${item}`)),
    ...(truncated ? ['(and more)'] : []),
  ];
}

function ruleLine({ name, grants, count, approvers }: Approval['rules'][number]): string {
  const who = [...new Set([...approvers.roles, ...approvers.groups])].join(', ');
  return visible(`rule ${name}: ${grants} of ${count} granted (${who})`);
}

function decisionLine({ as, principal, at, reason, withdrawn }: Approval['decisions'][number]): string {
  const end = withdrawn === undefined ? '' : ` (counts no more since ${withdrawn.at}: ${withdrawn.reason})`;
  return visible(`${as} by ${principal} at ${at}: ${reason}${end}`);
}

function whatToType({ id, mayDecide, whyNot, status }: Approval, invocation: string): readonly string[] {
  if (status !== 'waiting') return [];
  if (!mayDecide) return ['', visible(`You may not decide: ${whyNot?.detail ?? ''}`)];
  return [
    '',
    'To decide:',
    ...['grant', 'reject'].map((verb) => `  ${invocation} approvals ${verb} ${visible(id)} --reason '…'`),
  ];
}
