import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import type { FarSideReply, OutboundCall } from '#outbound/outbound-call.ts';
import type { CallContext } from './call-context.ts';
import { type OrchestratorParams, orchestratorCall, type PassedOnHeaders, refuseRedirect } from './orchestrator-call.ts';
import { headersAsJson, type RelayReply, renderReply, textRenderings } from './relay-reply.ts';
import { escapeStage } from './stage.ts';

/** `params` of restRequest, fit for its schema. */
export interface RequestParams extends OrchestratorParams {
  readonly method: OutboundCall['method'];
}

/** POST /orchestrator_manager/restRequest: any method; whatever status comes is the answer. */
export function restRequest(options: {
  readonly adapter: AdapterInstance;
  readonly context: CallContext;
  readonly params: RequestParams;
  readonly passedOn: PassedOnHeaders;
  readonly body?: Buffer | undefined;
  readonly userAgent: string;
}): Promise<RelayReply> {
  return orchestratorCall({ ...options, method: options.params.method, retry: 'action' }, renderAnswer);
}

/** `{ "statusCode", "headers", "body" }`, the body always a string. */
function renderAnswer(reply: FarSideReply): RelayReply {
  refuseRedirect(reply);
  const before = `{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":"`;
  return renderReply(
    reply,
    textRenderings(reply, (base64) => ({ before, after: base64 ? '","bodyEncoding":"base64"}' : '"}' }), escapeStage),
  );
}
