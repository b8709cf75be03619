import { visible, visibleLines } from '#base/text/visible.ts';
import type { Approval } from '#client/gateway.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { type Fact, factLines } from '../../texts/facts.ts';
import { taskPath } from '../../texts/run-words.ts';

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
