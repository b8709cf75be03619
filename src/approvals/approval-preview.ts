import { randomUUID } from 'node:crypto';
import type { Principal } from '#access/principal.ts';
import type { Entrance } from '#access/rights/access-options.ts';
import type { DryRunFormat, Preview } from '#adapters/dry-runs.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { continueTrace } from '#base/trace-context.ts';
import type { Call } from '#calls/call.ts';
import type { PreviewContext, TakePreview } from '#previews/preview.ts';
import { checkParams, type RequestParams } from '#relay/orchestrator-request.ts';
import type { Approval, StoredPreview } from './approval.ts';

interface ApprovalPreviewNeeds {
  readonly preview: TakePreview;
  /** Of a run. The list is empty where one of them is gone. Rejects with `store-unavailable`. */
  readonly peopleOf: (run: string) => Promise<Pick<PreviewContext, 'answerable' | 'owner'> | undefined>;
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
  const preview = await takePreview(approval, needs);
  return { ...preview, at: needs.clock.now() };
}

async function takePreview(approval: Approval, { preview, peopleOf, asker, format }: ApprovalPreviewNeeds): Promise<Preview> {
  const call = callOf(approval);
  if ('none' in call) return { kind: 'none', reason: call.none };
  const { id, principal, task, client } = approval;
  const people = task && (await peopleOf(task.run));
  const context = {
    principal,
    asker,
    entrance: task === undefined ? entranceOf(approval) : ('run' as const),
    client,
    ...people,
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

function entranceOf({ client }: Approval): Entrance {
  return client === undefined ? 'http' : 'mcp';
}

/** The call again as it was asked for. */
function callOf({ call, body }: Approval): Call | { readonly none: string } {
  if (call === undefined) return { none: 'A question has no preview.' };
  const { operation, redacted } = call;
  if (operation === 'restCall') return { none: 'A restCall goes to no orchestrator that could say what it would do.' };
  if (redacted) return { none: 'The call has values of secrets or of password fields, which are not kept.' };
  const { adapter, method, path, accept, contentType, passedOn } = call;
  const given = { method, path, accept, ...(contentType !== undefined && { contentType }) };
  const { params } = checkParams<RequestParams>(given, body);
  if (params === undefined) return { none: 'This gateway does not take the call any more.' };
  if (operation === 'restQuery') return { operation, adapter, params };
  if (operation === 'restRequest') return { operation, adapter, params, passedOn, body };
  return { operation, adapter, params, passedOn, body: body ?? Buffer.from('{}') };
}

/** How an orchestrator names devices in each format: headings of the gateway, blocks of the command line, elements. */
const deviceNames: Readonly<Record<string, RegExp>> = {
  native: /^# device (.+)$/gmu,
  cli: /^[ +-]*device (\S+) \{/gmu,
  xml: /<device(?:\s[^<>]*)?>\s*<name>([^<]+)<\/name>/gu,
};

/** The devices that the preview of a call names, in its order and with repetitions. */
export function previewedDevices({ kind, text = '' }: StoredPreview): readonly string[] {
  const pattern = deviceNames[kind];
  return pattern === undefined ? [] : [...text.matchAll(pattern)].map(([, name = '']) => name.trim());
}
