import { type IdempotentRequest, idempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import type { Call } from '#calls/call.ts';
import { type AgentCall, type PrepareCall, prepareAction, prepareRestCall } from './agent-call.ts';
import type { AgentNeeds } from './agent-needs.ts';
import { permitOnRecord } from './agent-tool.ts';
import { type Entering, enterCall } from './call-entrance.ts';
import { cutNote, type FarText, readFarText } from './far-text.ts';
import type { Cursor } from './fence.ts';
import type { ToolArguments } from './tool-arguments.ts';
import { fencedPage, type ToolResult, textResult } from './tool-result.ts';

export type ChangeTool = 'orchestrator_action' | 'rest_call';

const preparations: Readonly<Record<ChangeTool, PrepareCall>> = {
  orchestrator_action: prepareAction,
  rest_call: prepareRestCall,
};

/** Rejects with `forbidden` where agents may only read. */
export async function prepareChange(
  tool: ChangeTool,
  given: ToolArguments,
  entering: Entering,
  needs: AgentNeeds,
): Promise<AgentCall> {
  const prepared = await preparations[tool](given, entering, needs);
  const isRefused = needs.isReadOnly() && (prepared.changes || tool === 'rest_call');
  if (isRefused) await permitOnRecord(prepared.call.operation, entering, needs, isRefused);
  return prepared;
}

interface MadeChange {
  readonly prepared: AgentCall;
  readonly approval: { readonly id?: string | undefined; readonly reason?: string | undefined };
  /** Names the call: the same key makes it once. Undefined: it changes nothing. */
  readonly key: string | undefined;
  readonly cursor?: Cursor | undefined;
}

/** Rejects with a GatewayError. */
export async function makeChange(
  { prepared, approval, key, cursor }: MadeChange,
  entering: Entering,
  needs: AgentNeeds,
): Promise<ToolResult> {
  const { call, source, narrow } = prepared;
  const idempotent = key === undefined ? undefined : idempotencyOf(call, key, entering);
  const onlyAgain = key !== undefined && cursor !== undefined;
  const far = await enterCall({ call, approval, idempotent, onlyAgain }, entering, needs, readFarText);
  const page = fencedPage(far.bytes, { source, narrow, cursor, ...(key !== undefined && { key }) });
  const result = textResult(statusOf(far), ...(far.bytes.length === 0 ? [] : page), ...(far.isCut ? [cutNote(narrow)] : []));
  return far.status >= 400 ? { ...result, isError: true } : result;
}

function statusOf({ status, isBase64, bytes }: FarText): string {
  const body = bytes.length === 0 ? ' without a body' : isBase64 ? ' with bytes, as base64' : '';
  return `The call was made; the answer has the status ${status}${body}.`;
}

function idempotencyOf(call: Call, key: string, { principal }: Pick<Entering, 'principal'>): IdempotentRequest {
  const caller = principal.id;
  if (call.operation === 'restCall') {
    const { destination, verb, headers = {}, body = '' } = call.request;
    const payload = [verb, destination.href, JSON.stringify(headers), body];
    return idempotentRequest({ caller, route: 'mcp restCall', key, payload });
  }
  const body = call.operation === 'restQuery' ? '' : (call.body ?? '');
  const payload = [JSON.stringify(call.params), body];
  return idempotentRequest({ caller, route: `mcp ${call.operation} ${call.adapter}`, key, payload });
}
