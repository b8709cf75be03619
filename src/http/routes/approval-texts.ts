import { isUtf8 } from 'node:buffer';
import { type Approval, grantsFor } from '#approvals/approval.ts';
import type { SeenApproval } from '#approvals/approval-catalogue.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { findHeader } from '#relay/caller-headers.ts';
import { writeRequestBody } from '#relay/request-body.ts';

/** An approval as the routes answer it. */
export function shownApproval(approval: SeenApproval) {
  const { id, status, mayDecide, principal, reason, task, message, rules, decisions, preview, usedBy } = approval;
  return {
    id,
    status,
    mayDecide,
    principal: principal.username,
    roles: [...principal.roles],
    ...(reason !== undefined && { reason }),
    createdAt: isoTime(approval.createdAt),
    expires: isoTime(approval.expiresAt),
    changedAt: isoTime(approval.changedAt),
    ...(task !== undefined && { run: task.run, task: task.reference }),
    ...(message !== undefined && { message }),
    ...(approval.call !== undefined && { call: shownCall(approval, approval.call) }),
    rules: rules.map((terms) => {
      const grants = grantsFor(terms, decisions);
      return { ...terms, grants, satisfied: grants >= terms.count };
    }),
    decisions: decisions.map(({ as, principal: { username }, at, reason: why, rules: names }) => ({
      as,
      principal: username,
      at: isoTime(at),
      reason: why,
      rules: names,
    })),
    ...(preview !== undefined && { preview: { ...preview, at: isoTime(preview.at) } }),
    ...(usedBy !== undefined && { usedBy }),
  };
}

/** The call as it would leave: its method, where it goes, its headers and its body. */
function shownCall({ body }: Approval, call: NonNullable<Approval['call']>) {
  const { operation: route, method, redacted } = call;
  const place =
    call.operation === 'restCall'
      ? { method, path: call.uri, headers: call.headers, ...(call.user !== undefined && { user: call.user }) }
      : { adapter: call.adapter, method, path: call.path, headers: headersOf(call) };
  return { route, ...place, ...(body !== undefined && textOf(leavingBody(body, call))), redacted };
}

/** The bytes that leave, where the caller's JSON text is sent as another type. */
function leavingBody(body: Buffer, call: NonNullable<Approval['call']>): Buffer {
  const type = call.operation === 'restCall' ? findHeader(call.headers, 'content-type') : call.contentType;
  if (type === undefined) return body;
  try {
    return writeRequestBody(body, type);
  } catch (error) {
    // With `***` in the place of a name it may be no XML.
    if (error instanceof GatewayError) return body;
    throw error;
  }
}

function headersOf(call: Exclude<NonNullable<Approval['call']>, { readonly operation: 'restCall' }>) {
  const { accept, contentType, passedOn } = call;
  return { Accept: accept, ...(contentType !== undefined && { 'Content-Type': contentType }), ...passedOn };
}

function textOf(body: Buffer): { readonly body: string; readonly bodyEncoding?: 'base64' } {
  return isUtf8(body) ? { body: body.toString() } : { body: body.toString('base64'), bodyEncoding: 'base64' };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
