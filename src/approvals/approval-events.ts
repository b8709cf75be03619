import type { AuditFacts } from '#audit/audit-entry.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import type { NewEvent } from '#runs/journal/run-records.ts';
import type { Approval, ApprovalDecision } from './approval.ts';

export type ApprovalEvent = 'requested' | 'granted' | 'rejected' | 'withdrawn' | 'used' | 'expired';

/**
 * An event of an approval as a CloudEvent 1.0. `key`: makes its id unique where an approval has several of a kind. It has no body, no header,
 * no value of a query and no reason: these are only in the approval itself.
 */
export function approvalEvent(
  kind: ApprovalEvent,
  approval: Approval,
  { at, key = kind }: { readonly at: number; readonly key?: string },
): NewEvent {
  const { id, status, principal, call, message, task, rules, expiresAt } = approval;
  const data = {
    id,
    status,
    principal: principal.username,
    ...(call !== undefined && { call: describeCall(call) }),
    ...(message !== undefined && { message }),
    ...(task !== undefined && { run: task.run, task: task.reference }),
    rules: rules.map(({ name }) => name),
    expires: new Date(expiresAt).toISOString(),
  };
  const event = {
    specversion: '1.0',
    id: key,
    source: sourceOf(id),
    type: `orchestration-gateway.approval.${kind}.v1`,
    time: new Date(at).toISOString(),
    subject: id,
    datacontenttype: 'application/json',
    data,
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}

function describeCall(call: NonNullable<Approval['call']>) {
  const { operation: route, method } = call;
  return call.operation === 'restCall'
    ? { route, method, path: withMaskedQuery(call.uri) }
    : { route, adapter: call.adapter, method, path: withMaskedQuery(call.path) };
}

/** What people decide about, in words. */
function approvalName({ call, message }: Pick<Approval, 'call' | 'message'>): string | undefined {
  if (call === undefined) return message;
  const { method, path } = describeCall(call);
  return `${method} ${path}`;
}

export function sourceOf(id: string): string {
  return `/approvals/${id}`;
}

function adapterOf({ call }: Pick<Approval, 'call'>): string | undefined {
  return call !== undefined && 'adapter' in call ? call.adapter : undefined;
}

/** What an approval is about, for the audit log: with the run that asks, if one does. */
export function factsAbout({ task, ...about }: Pick<Approval, 'call' | 'message' | 'task'>) {
  const automation = task?.of?.automation;
  return {
    approvalName: approvalName(about),
    ...(task && { run: task.run }),
    ...(automation && { automation: { _id: automation.id, name: automation.name } }),
  };
}

/** What the audit log holds of a grant that counts no more. */
export function withdrawalFacts({ id, ...about }: Approval, { principal, withdrawn }: ApprovalDecision): AuditFacts {
  return {
    event: 'withdrawn',
    approval: id,
    ...factsAbout(about),
    adapter: adapterOf(about),
    detail: `The grant of ${principal.username} counts no more: ${withdrawn?.reason ?? ''}`,
  };
}

/** What the audit log holds of an approval that ended without a use. */
export function expiryFacts({ id, ...about }: Approval): AuditFacts {
  return {
    event: 'expired',
    approval: id,
    ...factsAbout(about),
    adapter: adapterOf(about),
    detail: 'The approval was not used in time, or its run no longer waits for it.',
  };
}
