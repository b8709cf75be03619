import type { GatewayError } from '#base/gateway-error.ts';
import type { CallReply } from '#relay/relayed-call.ts';

/** What a call brings its entrance, which renders it for its caller. */
export type CallAnswer =
  /** The upstream's reply, unrendered. `isRepeated`: the one to an earlier call with the same Idempotency-Key. */
  | { readonly kind: 'reply'; readonly reply: CallReply; readonly isRepeated: boolean }
  /** The error of an earlier call with the same Idempotency-Key; `requestId`: of the request that it was made for. */
  | { readonly kind: 'error'; readonly error: GatewayError; readonly requestId: string }
  | RenderedAnswer;

/** The reply to an earlier call with the same Idempotency-Key, as the entrance of an older gateway rendered it before it was kept. */
export interface RenderedAnswer {
  readonly kind: 'rendered';
  readonly status: number;
  readonly mediaType: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
