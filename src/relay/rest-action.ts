import type { FarSideReply } from '#outbound/outbound-call.ts';
import { refuseErrorStatus } from './orchestrator-errors.ts';
import { type RelayReply, renderReply, textRenderings } from './relay-reply.ts';
import { escapeStage } from './stage.ts';

/** `[{ "result": <body text, or the status code where there is no body> }]`. */
export function renderResult(reply: FarSideReply): RelayReply {
  refuseErrorStatus(reply);
  if (reply.head.length === 0) {
    return renderReply(reply, [() => ({ before: `[{"result":"${reply.status}`, stages: [], after: '"}]' })]);
  }
  return renderReply(
    reply,
    textRenderings(reply, () => ({ before: '[{"result":"', after: '"}]' }), escapeStage),
  );
}
