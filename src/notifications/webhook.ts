import { createHmac } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Secret } from '#base/secret.ts';
import { CallScope } from '#outbound/call-scope.ts';
import { type FarSideReply, wholeReplyLimit } from '#outbound/outbound-call.ts';
import { retryAfter } from '#outbound/retry-after.ts';
import type { Sender } from '#outbound/sender.ts';
import type { AttemptOutcome } from './notification.ts';

/** One attempt to send a notification. */
export interface WebhookAttempt {
  readonly url: string;
  readonly secret: Secret;
  readonly webhookId: string;
  /** The CloudEvent as JSON text. */
  readonly body: string;
}

/** Milliseconds. Standard Webhooks 1.0 recommends 15 to 30 s for the whole. */
export const webhookTimeouts = { dns: 3_000, connect: 5_000, firstByte: 0, idle: 0, total: 15_000 };

/** Sends one attempt. Never rejects. */
export type SendWebhook = (attempt: WebhookAttempt, signal: AbortSignal) => Promise<AttemptOutcome>;

export function createWebhooks(options: {
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
}): SendWebhook {
  const { sender, clock } = options;
  return async (attempt, signal) => {
    const scope = new CallScope({ total: webhookTimeouts.total, clock });
    const abort = (): void => scope.abort(new Error('the gateway stops'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      const reply = await sender.send(webhookCall(attempt, options), scope);
      // What the receiver says is not read: a long reply must not keep its connection.
      reply.discard();
      return outcomeOf(reply, clock);
    } catch (failure) {
      return { kind: 'failed', code: failure instanceof GatewayError ? failure.code : undefined };
    } finally {
      signal.removeEventListener('abort', abort);
      scope.end();
    }
  };
}

function webhookCall(
  { url, secret, webhookId, body }: WebhookAttempt,
  { clock, userAgent }: { readonly clock: Clock; readonly userAgent: string },
): Parameters<Sender['send']>[0] {
  const { origin, pathname, search } = new URL(url);
  const bytes = Buffer.from(body);
  const timestamp = String(Math.floor(clock.now() / 1_000));
  return {
    origin,
    path: pathname + search,
    method: 'POST',
    headers: Object.entries({
      Accept: '*/*',
      'User-Agent': userAgent,
      'Content-Type': 'application/cloudevents+json; charset=utf-8',
      'webhook-id': webhookId,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signatureOf({ secret, webhookId, timestamp, bytes })}`,
    }).flat(),
    body: bytes,
    // A repetition does no harm: the receiver knows it by the webhook-id.
    stateChanging: false,
    timeouts: webhookTimeouts,
    responseLimit: wholeReplyLimit,
  };
}

const secretPrefix = 'whsec_';

/** HMAC-SHA256 over id, timestamp and body (Standard Webhooks 1.0, "Signature scheme"), in base64. */
function signatureOf(signed: {
  readonly secret: Secret;
  readonly webhookId: string;
  readonly timestamp: string;
  readonly bytes: Buffer;
}): string {
  const key = Buffer.from(signed.secret.reveal().slice(secretPrefix.length), 'base64');
  return createHmac('sha256', key).update(`${signed.webhookId}.${signed.timestamp}.`).update(signed.bytes).digest('base64');
}

/** Redirects are not followed: the operator configures the address. */
function outcomeOf({ status, headers }: FarSideReply, clock: Clock): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status };
  return { kind: 'failed', status, retryAfter: retryAfter(headers, clock) };
}
