import { isUtf8 } from 'node:buffer';
import { type IdempotentRequest, type KeyChange, sealed } from '#audit/idempotency/idempotent-request.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError, type GatewayErrorOptions } from '#base/gateway-error.ts';
import { type CallReply, inMemory } from '#relay/relayed-call.ts';
import type { CallAnswer } from './call-answer.ts';
import { type CallFacts, changeLeft } from './call-outcome.ts';

/** What came of a call. */
export type CallResult = { readonly reply: CallReply } | { readonly failure: unknown };

/** `requestId`: of the request that it was kept for. In the store the body follows, after a line break. */
interface KeptReply extends Pick<CallReply, 'status' | 'headers' | 'address'> {
  readonly kind: 'reply';
  readonly requestId: string;
}

interface KeptError extends Pick<GatewayErrorOptions, 'status' | 'errors' | 'upstream' | 'approval' | 'headers'> {
  readonly kind: 'error';
  readonly requestId: string;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** What gateways up to 0.1 kept: the reply as the entrance of the call wrote it. It is in no store for longer than 24 hours. */
interface KeptRendering {
  readonly kind?: undefined;
  readonly requestId: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly code?: string;
}

/**
 * What becomes of the Idempotency-Key once its call has ended. The reply is kept where the upstream answered, or certainly failed. The key
 * is free again where nothing left the gateway, or where a reading failed.
 */
export function keyChange({
  result,
  request,
  requestId,
  facts,
  mask,
  mayKeep,
}: {
  readonly result: CallResult;
  readonly request: IdempotentRequest;
  readonly requestId: string;
  readonly facts: CallFacts;
  /** Replaces the values of secrets. */
  readonly mask: (text: string) => string;
  /** Whether the store has room for a sealed reply of that length. */
  readonly mayKeep: (length: number) => boolean;
}): KeyChange {
  const keep = (kept: KeptReply | KeptError, body: Buffer): KeyChange => {
    const reply = sealed(request, Buffer.concat([Buffer.from(`${mask(JSON.stringify(kept))}\n`), maskedBytes(body, mask)]));
    return { kind: 'end', state: 'done', ...(mayKeep(reply.length) && { reply }) };
  };
  if ('reply' in result) {
    const { status, headers, address, head, rest, whole = head } = result.reply;
    if (rest !== undefined && whole === head) return { kind: 'end', state: 'done' };
    return keep({ kind: 'reply', requestId, status, headers, address }, whole);
  }
  const { failure } = result;
  if (!changeLeft(facts)) return { kind: 'release' };
  if (!(failure instanceof GatewayError) || failure.code === 'outcome-unknown') return { kind: 'end', state: 'unknown' };
  return keep(keptError(failure, requestId), Buffer.alloc(0));
}

/** What is no UTF-8 is masked byte by byte, so that its other bytes stay. */
function maskedBytes(bytes: Buffer, mask: (text: string) => string): Buffer {
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const text = bytes.toString(encoding);
  const masked = mask(text);
  return masked === text ? bytes : Buffer.from(masked, encoding);
}

function keptError(
  { code, message: detail, status, errors, upstream, approval, headers }: GatewayError,
  requestId: string,
): KeptError {
  const known = { ...(errors && { errors }), ...(upstream && { upstream }), ...(approval && { approval }) };
  return { kind: 'error', requestId, code, detail, status, headers, ...known };
}

/** The answer to give again, the request that it was kept for, and its code where it is an error. */
export function readKeptReply(kept: Buffer): {
  readonly answer: CallAnswer;
  readonly requestId: string;
  readonly code: string | undefined;
} {
  const lineEnd = kept.indexOf('\n');
  const end = lineEnd < 0 ? kept.length : lineEnd;
  const head = JSON.parse(kept.toString('utf8', 0, end)) as KeptReply | KeptError | KeptRendering;
  const { requestId } = head;
  if (head.kind === 'reply') {
    const reply = inMemory(head, kept.subarray(end + 1));
    return { requestId, code: undefined, answer: { kind: 'reply', reply, isRepeated: true } };
  }
  if (head.kind === 'error') {
    const { code, detail } = head;
    return { requestId, code, answer: { kind: 'error', requestId, error: new GatewayError(code, detail, head) } };
  }
  const { 'Content-Type': mediaType, 'Content-Length': _length, ...headers } = head.headers;
  const { status, body, code = codeIn(head) } = head;
  return { requestId, code, answer: { kind: 'rendered', status, mediaType, headers, body } };
}

/** Before the code was kept, each error was problem+json, which has the code as a member. */
function codeIn({ status, body }: KeptRendering): string | undefined {
  return status < 400 ? undefined : (JSON.parse(body) as { readonly code?: string }).code;
}
