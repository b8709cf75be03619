import { type IdempotentRequest, sealed } from '#audit/idempotent-request.ts';
import type { KeyChange } from '#audit/key-change.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { headersByName, type RelayReply } from '#relay/relay-reply.ts';
import type { CallFacts } from './call-facts.ts';
import { changeLeft } from './call-outcome.ts';

/** What came of a call. */
export type CallResult = { readonly reply: RelayReply } | { readonly failure: unknown };

/** Writes an error as the entrance of the call answers it. */
export type RenderError = (error: GatewayError, requestId: string) => RenderedReply;

interface RenderedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply as it is kept for a caller that sends its request again. */
interface KeptReply extends RenderedReply {
  /** Of the request that it was made for. */
  readonly requestId: string;
  /** Of the error table, where the reply is an error. */
  readonly code?: string;
}

/**
 * What becomes of the Idempotency-Key once its call has ended. The reply is kept where the far side answered, or certainly failed. The key
 * is free again where nothing left the gateway, or where a reading failed.
 */
export function keyChange({
  result,
  request,
  requestId,
  facts,
  renderError,
  mayKeep,
}: {
  readonly result: CallResult;
  readonly request: IdempotentRequest;
  readonly requestId: string;
  readonly facts: CallFacts;
  readonly renderError: RenderError;
  /** Whether the store has room for a sealed reply of that length. */
  readonly mayKeep: (length: number) => boolean;
}): KeyChange {
  const keep = (kept: KeptReply): KeyChange => {
    const reply = sealed(request, JSON.stringify(kept));
    return { kind: 'end', state: 'done', ...(mayKeep(reply.length) && { reply }) };
  };
  if ('reply' in result) {
    const { status = 200, headers, head, rest } = result.reply;
    if (rest !== undefined) return { kind: 'end', state: 'done' };
    return keep({ requestId, status, headers: headersByName(headers), body: head.toString('utf8') });
  }
  const { failure } = result;
  if (!changeLeft(facts)) return { kind: 'release' };
  if (!(failure instanceof GatewayError) || failure.code === 'outcome-unknown') return { kind: 'end', state: 'unknown' };
  return keep({ requestId, code: failure.code, ...renderError(failure, requestId) });
}

/** The kept reply to send again, the request that it was made for, and its code where it is an error. */
export function readKeptReply(text: string): {
  readonly reply: RelayReply;
  readonly requestId: string;
  readonly code: string | undefined;
} {
  const { requestId, status, headers, body, code = codeIn({ status, body }) } = JSON.parse(text) as KeptReply;
  // Of an error all headers are kept.
  const { 'Content-Type': mediaType, 'Content-Length': _length, ...others } = headers;
  const shown = [...Object.entries(others).flat(), 'Idempotency-Replayed', 'true'];
  const reply = { kind: 'relayed', status, mediaType, headers: shown, head: Buffer.from(body), rest: undefined } as const;
  return { reply, requestId, code };
}

/** For a reply that an older gateway kept, without its code: an error is problem+json, which has the code as a member. */
function codeIn({ status, body }: Pick<KeptReply, 'status' | 'body'>): string | undefined {
  return status < 400 ? undefined : (JSON.parse(body) as { readonly code?: string }).code;
}
