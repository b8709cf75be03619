import { headerValue, type OutboundCall, type ReplyHeaders } from './outbound-call.ts';

const credentials = /^[ \t]*(?:ntlm|negotiate)\b/iu;
const challenge = /(?:^|,)[ \t]*(?:ntlm|negotiate)\b/iu;

/**
 * True where the call has credentials that authenticate its connection instead of the request (NTLM; Negotiate, RFC 4559 6). Each later
 * request on the connection would act in their name.
 */
export function authenticatesConnection({ headers }: Pick<OutboundCall, 'headers'>): boolean {
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at]?.toLowerCase() === 'authorization' && credentials.test(headers[at + 1] ?? '')) return true;
  return false;
}

/** True where the reply is a step of such an authentication, or asks for one. */
export function asksForConnectionAuthentication(headers: ReplyHeaders): boolean {
  return ['www-authenticate', 'proxy-authenticate'].some((name) => challenge.test(headerValue(headers, name) ?? ''));
}
