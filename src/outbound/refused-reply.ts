import { GatewayError } from '#base/gateway-error.ts';
import { headerValue, type OutboundCall, type ReplyHeaders } from './outbound-call.ts';
import { tooLarge } from './reply-body.ts';

const eventStream = /(?:^|,)[ \t]*text\/event-stream[ \t]*(?:[;,]|$)/iu;

/** Why a reply is refused by its head, before its body is read; undefined where it is not. */
export function refusalByHead(call: OutboundCall, status: number, headers: ReplyHeaders): GatewayError | undefined {
  // The Content-Length of a 204 or 304 is not that of its body (RFC 9110 8.6).
  if (status === 204 || status === 304) return undefined;
  const length = headerValue(headers, 'content-length');
  if (length === undefined) {
    const isEndless = call.asItComes !== true && eventStream.test(headerValue(headers, 'content-type') ?? '');
    return isEndless ? endless(call) : undefined;
  }
  // The limit counts decoded bytes.
  const isDecoded = headerValue(headers, 'content-encoding') === undefined;
  return isDecoded && Number(length) > call.responseLimit ? tooLarge(call.responseLimit) : undefined;
}

function endless({ method, stateChanging }: OutboundCall): GatewayError {
  const answered = stateChanging ? ` It has answered the ${method}: look there before you send it again.` : '';
  return new GatewayError(
    'stream-refused',
    `The far side answers with text/event-stream, which need not end, and the gateway relays only replies that end. Ask for another media type, or read the stream directly from the far side.${answered}`,
  );
}
