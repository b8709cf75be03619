import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { CallContext } from './call-context.ts';
import { type OrchestratorParams, orchestratorCall, type PassedOnHeaders, refuseErrorStatus } from './orchestrator-call.ts';
import { type RelayReply, renderReply, textRenderings } from './relay-reply.ts';
import { escapeStage } from './stage.ts';

/** POST /orchestrator_manager/restAction: a POST that is never sent twice. */
export function restAction(options: {
  readonly adapter: AdapterInstance;
  readonly context: CallContext;
  readonly params: OrchestratorParams;
  readonly passedOn: PassedOnHeaders;
  readonly body: Buffer;
  readonly userAgent: string;
}): Promise<RelayReply> {
  return orchestratorCall({ ...options, method: 'POST', retry: 'action' }, renderResult);
}

/** `[{ "result": <body text, or the status code where there is no body> }]`. */
function renderResult(reply: FarSideReply): RelayReply {
  refuseErrorStatus(reply);
  if (reply.head.length === 0) {
    return renderReply(reply, [() => ({ before: `[{"result":"${reply.status}`, stages: [], after: '"}]' })]);
  }
  return renderReply(
    reply,
    textRenderings(reply, () => ({ before: '[{"result":"', after: '"}]' }), escapeStage),
  );
}
