import { GatewayError } from '#base/gateway-error.ts';
import type { Approval } from './approval.ts';

interface RefusalOptions {
  readonly approval: Approval;
  /** In front of the path of the approval. */
  readonly base: string;
}

/** 403: people have to decide first. The same call gets the same id. */
export function approvalRequired({ approval, base }: RefusalOptions, sentence: string): GatewayError {
  const { id, expiresAt, rules } = approval;
  const names = rules.map(({ name }) => name).join(', ');
  const expires = new Date(expiresAt).toISOString();
  return new GatewayError('approval-required', sentence, {
    rule: `approval ${names}`,
    approval: { id, href: `${base}/approvals/${id}`, expires },
  });
}

export function whereToWait({ id, rules, expiresAt }: Approval): string {
  const names = rules.map(({ name }) => name).join(', ');
  return `The call needs the approval of ${names}. When it is granted, send the same call again with the header "Approval: ${id}", before ${new Date(expiresAt).toISOString()}.`;
}

export function approvalMismatch(): GatewayError {
  return new GatewayError(
    'approval-mismatch',
    'There is no approval with this id for this call. Send the call as it was approved: the same caller, route, adapter instance, method, path, headers and body. Without the header Approval the call asks for an approval of its own.',
  );
}

/** 409: why an approval that is over, or was used, lets no call pass. `base`: in front of its path, where a call asks. */
export function approvalOver(approval: Approval, base = ''): GatewayError {
  const { id, status, decisions, usedBy, expiresAt } = approval;
  const about = { approval: { id, href: `${base}/approvals/${id}`, expires: new Date(expiresAt).toISOString() } };
  if (status === 'used') {
    const by = usedBy === undefined ? '' : ` by the call that the audit log has as ${usedBy}`;
    const detail = `The approval was used${by}. A further call needs an approval of its own: send it without the header Approval.`;
    return new GatewayError('approval-used', detail, about);
  }
  if (status === 'rejected') {
    const rejection = decisions.find(({ as }) => as === 'rejected');
    const who = rejection === undefined ? '' : ` by ${rejection.principal.username}: ${rejection.reason}`;
    return new GatewayError('approval-rejected', `The approval was rejected${who}`, about);
  }
  const detail = 'The approval has expired. Ask for it again: send the call without the header Approval.';
  return new GatewayError('approval-expired', detail, about);
}

export function approvalNotFound(): GatewayError {
  return new GatewayError('approval-not-found', 'There is no approval with this id that you may see.');
}
