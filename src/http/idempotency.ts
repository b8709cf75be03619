import type { IncomingMessage } from 'node:http';
import type { Authentication } from '#access/authentication.ts';
import { type IdempotentRequest, idempotentRequest, sealed } from '#audit/idempotent-request.ts';
import type { KeyEffect } from '#audit/key-effect.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { changeLeft } from '#calls/call-outcome.ts';
import type { CallFacts, CallResult } from '#relay/call-context.ts';
import { headersByName, type RelayReply } from '#relay/relay-reply.ts';
import { problemReply } from './problem.ts';
import type { Route } from './route.ts';

/** The request as the one that its Idempotency-Key stands for; undefined where it has none. Throws 400 where that is no key. */
export function idempotentRequestOf(
  route: Route,
  request: {
    readonly raw: Pick<IncomingMessage, 'headers'>;
    readonly caller: Authentication | undefined;
    readonly params: Readonly<Record<string, string>>;
    readonly body: Buffer | undefined;
  },
): IdempotentRequest | undefined {
  if (route.idempotency === undefined || request.caller === undefined) return undefined;
  const { headers } = request.raw;
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/u.test(key))
    throw new GatewayError('malformed-request', 'The Idempotency-Key is not 1 to 255 visible ASCII characters without spaces.');
  const passedOn = route.idempotency.headers.map((name) => JSON.stringify(headers[name] ?? null));
  return idempotentRequest({
    caller: request.caller.principal.id,
    route: JSON.stringify([route.method, route.url, request.params]),
    key,
    payload: [request.body ?? '', ...passedOn],
  });
}

/** A reply as it is kept for whoever sends its request again. */
interface KeptReply {
  /** Of the request that it was made for. */
  readonly requestId: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * What becomes of the key once its call was carried out: the reply is kept where the far side answered or failed for certain, the key is
 * free again where nothing left the gateway, or where a reading failed.
 */
export function keyEffect(
  result: CallResult,
  call: { readonly requestId: string; readonly facts: CallFacts },
  request: IdempotentRequest,
): KeyEffect {
  const done = (reply: Omit<KeptReply, 'requestId'>): KeyEffect => {
    const kept: KeptReply = { requestId: call.requestId, ...reply };
    return { kind: 'end', state: 'done', reply: sealed(request, JSON.stringify(kept)) };
  };
  if ('reply' in result) {
    const { status = 200, headers, head, rest } = result.reply;
    if (rest !== undefined) return { kind: 'end', state: 'done' };
    return done({ status, headers: headersByName(headers), body: head.toString('utf8') });
  }
  const { failure } = result;
  if (!changeLeft(call.facts)) return { kind: 'release' };
  if (!(failure instanceof GatewayError) || failure.code === 'outcome-unknown') return { kind: 'end', state: 'unknown' };
  return done(problemReply(failure, call.requestId));
}

/** The kept reply to send once more, the request that it was made for, and where it is an error its code. */
export function readKeptReply(text: string): { readonly reply: RelayReply; readonly requestId: string; readonly code?: string } {
  const { requestId, status, headers, body } = JSON.parse(text) as KeptReply;
  // Of an error all of its headers are kept.
  const { 'Content-Type': mediaType, 'Content-Length': _length, ...others } = headers;
  const shown = [...Object.entries(others).flat(), 'Idempotency-Replayed', 'true'];
  const reply = { kind: 'relayed', status, mediaType, headers: shown, head: Buffer.from(body), rest: undefined } as const;
  return status < 400 ? { reply, requestId } : { reply, requestId, code: (JSON.parse(body) as { readonly code: string }).code };
}
