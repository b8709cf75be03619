import type { FarSideReply } from '#outbound/outbound-call.ts';
import { headersAsJson, type RelayReply, renderReply, textRenderings } from './relay-reply.ts';
import { base64Stage, escapeStage } from './stage.ts';

/** How a call gets the whole reply of the far side, where its entrance does not answer as a route of its operation does. */
export interface WholeReply {
  /** `text`: as text where it is text, else in base64. `bytes`: always in base64. */
  readonly content: 'text' | 'bytes';
  /** Of an orchestrator: whether a status of 400 and above is the error `upstream-error`, or a reply like any other. */
  readonly errors: 'refused' | 'passed';
}

/** `{ "statusCode", "headers", "body" }`, the body always a string; `"bodyEncoding": "base64"` where it is in base64. */
export function renderWhole(reply: FarSideReply, content: WholeReply['content'] = 'text'): RelayReply {
  const before = `{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":"`;
  const asBytes = { before, stages: [base64Stage()], after: '","bodyEncoding":"base64"}', base64: true } as const;
  if (content === 'bytes') return renderReply(reply, [() => asBytes]);
  return renderReply(
    reply,
    textRenderings(reply, (base64) => ({ before, after: base64 ? '","bodyEncoding":"base64"}' : '"}' }), escapeStage),
  );
}
