import { randomUUID } from 'node:crypto';
import type { Principal } from '#access/principal.ts';
import type { DryRunFormat, Preview } from '#adapters/dry-runs.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { continueTrace } from '#base/trace-context.ts';
import type { Call } from '#calls/call.ts';
import type { TakePreview } from '#previews/preview.ts';
import { checkParams, type RequestParams } from '#relay/orchestrator-request.ts';
import type { Approval, StoredPreview } from './approval.ts';

interface ApprovalPreviewNeeds {
  readonly preview: TakePreview;
  /** Who answers for the calls of a run; an empty list where one of them is gone. Rejects with `store-unavailable`. */
  readonly answerableOf: (run: string) => Promise<readonly Principal[] | undefined>;
  readonly clock: Clock;
  /** Who asks for the preview. Undefined: the call, when it was refused. */
  readonly asker: Principal | undefined;
  /** See TakePreview. */
  readonly format: DryRunFormat | undefined;
}

/**
 * Takes the preview of an approval's call, in the name and by the rights of who asked for the call. Rejects with `store-unavailable`, and with
 * `too-many-requests` where `asker` has a preview too many.
 */
export async function previewOfApproval(approval: Approval, needs: ApprovalPreviewNeeds): Promise<StoredPreview> {
  const preview = await taken(approval, needs);
  return { ...preview, at: needs.clock.now() };
}

async function taken(approval: Approval, { preview, answerableOf, asker, format }: ApprovalPreviewNeeds): Promise<Preview> {
  const call = callOf(approval);
  if ('none' in call) return { kind: 'none', reason: call.none };
  const { id, principal, task } = approval;
  const answerable = task && (await answerableOf(task.run));
  const context = {
    principal,
    asker,
    entrance: task === undefined ? ('http' as const) : ('run' as const),
    answerable,
    requestId: randomUUID(),
    trace: continueTrace(undefined),
    span: undefined,
    sourceAddress: undefined,
    via: task && { run: task.run, task: task.reference },
    approval: id,
  };
  try {
    return await preview(call, context, format);
  } catch (failure) {
    if (failure instanceof GatewayError && (asker === undefined || failure.code !== 'too-many-requests'))
      return { kind: 'none', reason: failure.message };
    throw failure;
  }
}

/** The call again as it was asked for. */
function callOf({ call, body }: Approval): Call | { readonly none: string } {
  if (call === undefined) return { none: 'A question has no preview.' };
  const { operation, redacted } = call;
  if (operation === 'restCall') return { none: 'A restCall goes to no orchestrator that could say what it would do.' };
  if (redacted) return { none: 'The call has values of secrets, which are not kept.' };
  const { adapter, method, path, accept, contentType, passedOn } = call;
  const given = { method, path, accept, ...(contentType !== undefined && { contentType }) };
  const { params } = checkParams<RequestParams>(given, body);
  if (params === undefined) return { none: 'This gateway does not take the call any more.' };
  if (operation === 'restQuery') return { operation, adapter, params };
  if (operation === 'restRequest') return { operation, adapter, params, passedOn, body };
  return { operation, adapter, params, passedOn, body: body ?? Buffer.from('{}') };
}
