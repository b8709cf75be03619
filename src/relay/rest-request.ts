import type { FarSideReply } from '#outbound/outbound-call.ts';
import { refuseRedirect } from './orchestrator-errors.ts';
import { headersAsJson, type RelayReply, renderReply, textRenderings } from './relay-reply.ts';
import { escapeStage } from './stage.ts';

/** `{ "statusCode", "headers", "body" }`, the body always a string. */
export function renderAnswer(reply: FarSideReply): RelayReply {
  refuseRedirect(reply);
  const before = `{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":"`;
  return renderReply(
    reply,
    textRenderings(reply, (base64) => ({ before, after: base64 ? '","bodyEncoding":"base64"}' : '"}' }), escapeStage),
  );
}
