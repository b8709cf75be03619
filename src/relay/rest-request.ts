import type { FarSideReply } from '#outbound/outbound-call.ts';
import { refuseRedirect } from './orchestrator-errors.ts';
import type { RelayReply } from './relay-reply.ts';
import { renderWhole } from './whole-reply.ts';

/** `{ "statusCode", "headers", "body" }`, the body always a string. */
export function renderAnswer(reply: FarSideReply): RelayReply {
  refuseRedirect(reply);
  return renderWhole(reply);
}
