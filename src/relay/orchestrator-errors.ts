import { readRestconfError } from '#adapters/restconf-errors.ts';
import { GatewayError, type UpstreamAnswer } from '#base/gateway-error.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import { readableBody } from './readable-body.ts';
import { headersByName, upstreamHeaders } from './reply-headers.ts';

/** Throws the error that a status means for an action or a query: a redirect, which is never followed, or 400 and above. */
export function refuseErrorStatus(reply: FarSideReply): void {
  refuseRedirect(reply);
  if (reply.status < 400) return;
  const error = readRestconfError(reply);
  const said = [error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
  reply.discard();
  throw new GatewayError(
    'upstream-error',
    `The orchestrator answered ${reply.status}${said === '' ? '' : `: ${said.replace(/\.$/u, '')}`}.${reply.status === 401 ? notYours : ''}`,
    { ...aboutReply(reply), logged: `The orchestrator answered ${reply.status}${knownTag(error?.tag)}.` },
  );
}

/** An error tag of RFC 8040 section 7, for the log, which has no other text of a far side. */
function knownTag(tag: string | undefined): string {
  return tag !== undefined && errorTags.has(tag) ? ` (${tag})` : '';
}

const errorTags: ReadonlySet<string> = new Set(
  (
    'in-use invalid-value too-big missing-attribute bad-attribute unknown-attribute missing-element bad-element unknown-element ' +
    'unknown-namespace access-denied lock-denied resource-denied rollback-failed data-exists data-missing ' +
    'operation-not-supported operation-failed partial-operation malformed-message'
  ).split(' '),
);

const notYours =
  ' It refuses the credentials of the adapter instance, which the operator of the gateway configures; they are not yours.';

/** Refuses a redirect of an orchestrator: the operator's credentials are for the configured addresses only. */
export function refuseRedirect(reply: FarSideReply): void {
  if (!isRedirect(reply.status)) return;
  reply.discard();
  throw new GatewayError(
    'redirect-refused',
    `The orchestrator answered with a redirect (status ${reply.status}), which the gateway does not follow. Call the address of the redirect, or have the adapter's url changed.`,
    aboutReply(reply),
  );
}

/** The description of a reply in an error: `upstream`, and the same X-Upstream-* headers as for a success. */
function aboutReply(reply: FarSideReply): Pick<GatewayError, 'headers'> & { readonly upstream: UpstreamAnswer } {
  const type = headerValue(reply.headers, 'content-type');
  const { text, base64 } = readableBody(reply);
  const upstream = { status: reply.status, ...(type === undefined ? {} : { contentType: type }), body: text };
  return { upstream, headers: headersByName(upstreamHeaders(reply, base64)) };
}
