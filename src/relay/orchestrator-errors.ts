import { readRestconfError } from '#adapters/restconf-errors.ts';
import { GatewayError, type UpstreamAnswer } from '#base/gateway-error.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import { readableBody } from './readable-body.ts';
import { headersByName, upstreamHeaders } from './relay-reply.ts';

/** Throws what a far side's status means for an action or a query: a redirect is never followed, 400 and above is an error. */
export function refuseErrorStatus(reply: FarSideReply): void {
  refuseRedirect(reply);
  if (reply.status < 400) return;
  const error = readRestconfError(reply);
  const said = [error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
  reply.discard();
  throw new GatewayError(
    'upstream-error',
    `The orchestrator answered ${reply.status}${said === '' ? '' : `: ${said.replace(/\.$/u, '')}`}.`,
    aboutReply(reply),
  );
}

/** Redirects of an orchestrator are never followed: its credentials stay where the operator sent them. */
export function refuseRedirect(reply: FarSideReply): void {
  if (!isRedirect(reply.status)) return;
  reply.discard();
  throw new GatewayError(
    'redirect-refused',
    `The orchestrator redirects (status ${reply.status}); the gateway does not follow. Call the address it names, or have the adapter's url changed.`,
    aboutReply(reply),
  );
}

/** An error that speaks of a reply names it as a success would: in `upstream` and in the X-Upstream-* headers. */
function aboutReply(reply: FarSideReply): Pick<GatewayError, 'headers'> & { readonly upstream: UpstreamAnswer } {
  const type = headerValue(reply.headers, 'content-type');
  const { text, base64 } = readableBody(reply);
  const upstream = { status: reply.status, ...(type === undefined ? {} : { contentType: type }), body: text };
  return { upstream, headers: headersByName(upstreamHeaders(reply, base64)) };
}
