import { isUtf8 } from 'node:buffer';
import { type Approval, grantsFor } from '#approvals/approval.ts';
import type { SeenApproval } from '#approvals/approval-catalogue.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { findHeader } from '#relay/caller-headers.ts';
import type { PassedOnHeaders, RequestParams } from '#relay/orchestrator-request.ts';
import { writeRequestBody } from '#relay/request-body.ts';
import { isoTime } from './lists.ts';

/** Whether the commit of a call gets a stamp. */
export type StampsCall = (call: {
  readonly adapter: string;
  readonly method: RequestParams['method'];
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: Buffer | undefined;
  readonly passedOn: PassedOnHeaders;
}) => boolean;

/** An approval as the routes answer it. */
export function shownApproval(approval: SeenApproval, stamps?: StampsCall) {
  const {
    id,
    status,
    mayDecide,
    whyNot,
    principal,
    involved,
    reason,
    client,
    message,
    rules,
    decisions,
    preview,
    usedBy,
    warnings,
  } = approval;
  return {
    id,
    status,
    mayDecide,
    ...(whyNot !== undefined && { whyNot }),
    principal: principal.username,
    roles: [...principal.roles],
    involved: involved.map(({ username, as }) => ({ principal: username, as: [...as] })),
    ...(reason !== undefined && { reason }),
    ...(client !== undefined && { client }),
    createdAt: isoTime(approval.createdAt),
    expires: isoTime(approval.holdsUntil ?? approval.expiresAt),
    changedAt: isoTime(approval.changedAt),
    ...shownTask(approval),
    ...(message !== undefined && { message }),
    ...shownBatch(approval),
    ...(approval.call !== undefined && { call: shownCall(approval, approval.call, stamps) }),
    rules: rules.map((terms) => {
      const grants = grantsFor(terms, decisions);
      return { ...terms, grants, satisfied: grants >= terms.count };
    }),
    decisions: decisions.map(({ as, principal: { username }, at, reason: why, rules: names, withdrawn }) => ({
      as,
      principal: username,
      at: isoTime(at),
      reason: why,
      rules: names,
      ...(withdrawn !== undefined && { withdrawn: { at: isoTime(withdrawn.at), reason: withdrawn.reason } }),
    })),
    ...(warnings.length > 0 && { warnings }),
    ...(preview !== undefined && { preview: { ...preview, at: isoTime(preview.at) } }),
    ...(usedBy !== undefined && { usedBy }),
  };
}

/** What runs, by its name. The id of the run is for those who may open it. */
function shownTask({ task, seesRun }: SeenApproval) {
  if (task === undefined) return {};
  const { run, reference, of } = task;
  const names = of && { ...(of.automation !== undefined && { automation: of.automation.name }), workflow: of.workflow };
  return { ...(seesRun && { run }), task: reference, ...names };
}

/** One decision is for many calls. A list has no items. */
function shownBatch({ batch, seesRun, items }: SeenApproval) {
  if (batch === undefined) return {};
  const run = seesRun ? { run: batch.run } : {};
  const list = items && { list: items.list.map((item) => ({ ...item })), ...(items.isCut && { truncated: true }) };
  return { batch: { ...run, items: batch.items, ...list } };
}

/** The call as it would leave: its method, where it goes, its headers and its body. */
function shownCall({ body }: Approval, call: NonNullable<Approval['call']>, stamps: StampsCall = () => false) {
  const { operation: route, method, redacted, secrets = [] } = call;
  const place =
    call.operation === 'restCall'
      ? { method, path: call.uri, headers: call.headers, ...(call.user !== undefined && { user: call.user }) }
      : {
          adapter: call.adapter,
          method,
          path: call.path,
          headers: headersOf(call),
          ...(call.repeatable && { repeatable: true }),
          ...(isStamped(call, body, stamps) && { stamped: true }),
        };
  return {
    route,
    ...place,
    ...(body !== undefined && textOf(leavingBody(body, call))),
    redacted,
    ...(secrets.length > 0 && { secrets: [...secrets] }),
  };
}

function isStamped(call: OrchestratorCall, body: Buffer | undefined, stamps: StampsCall): boolean {
  const method = methods.find((known) => known === call.method);
  return method !== undefined && stamps({ ...call, method, body: body && leavingBody(body, call) });
}

const methods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'] as const;

type OrchestratorCall = Exclude<NonNullable<Approval['call']>, { readonly operation: 'restCall' }>;

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

function headersOf(call: OrchestratorCall) {
  const { accept, contentType, passedOn } = call;
  return { Accept: accept, ...(contentType !== undefined && { 'Content-Type': contentType }), ...passedOn };
}

function textOf(body: Buffer): { readonly body: string; readonly bodyEncoding?: 'base64' } {
  return isUtf8(body) ? { body: body.toString() } : { body: body.toString('base64'), bodyEncoding: 'base64' };
}
