import { createHmac } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import { retryAfter, type UpstreamReply, wholeReplyLimit } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import type { ExpressionPool } from '#workflows/jq/expression-pool.ts';
import type { AttemptOutcome, ReceiverOptions } from './notification.ts';

/** One attempt to send a notification. */
export interface WebhookAttempt {
  readonly receiver: Omit<ReceiverOptions, 'events'>;
  readonly webhookId: string;
  /** A CloudEvent as JSON text. */
  readonly event: string;
}

/** Milliseconds. Standard Webhooks 1.0 recommends 15 to 30 s for the whole. */
export const webhookTimeouts = { dns: 3_000, connect: 5_000, firstByte: 0, idle: 0, total: 15_000 };

/** Sends one attempt. Never rejects. */
export type SendWebhook = (attempt: WebhookAttempt, signal: AbortSignal) => Promise<AttemptOutcome>;

export function createWebhooks(options: {
  readonly sender: Sender;
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly clock: Clock;
  readonly userAgent: string;
}): SendWebhook {
  const { sender, clock, expressions } = options;
  return async (attempt, signal) => {
    const made = await bodyOf(attempt, expressions);
    if ('detail' in made) return { kind: 'failed', code: 'body-expression', reason: made.detail };
    const scope = new CallScope({ total: webhookTimeouts.total, clock });
    const abort = (): void => scope.abort(new Error('the gateway stops'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      const reply = await sender.send(webhookCall(attempt, made.body, options), scope);
      // What the receiver says is not read: a long reply must not keep its connection.
      reply.discard();
      // The next attempt has new values, if there are some.
      if (reply.status === 401) await renewSecrets(attempt.receiver);
      return outcomeOf(reply, clock);
    } catch (failure) {
      return { kind: 'failed', code: failure instanceof GatewayError ? failure.code : undefined };
    } finally {
      signal.removeEventListener('abort', abort);
      scope.end();
    }
  };
}

async function renewSecrets({ secret, headers = {} }: Pick<ReceiverOptions, 'headers' | 'secret'>): Promise<void> {
  await Promise.all([secret, ...Object.values(headers)].map((value) => value.renew()));
}

/** An event on which the expression fails is tried again like one that a receiver refuses: a reload may mend the expression. */
async function bodyOf(
  { receiver: { body: expression }, event }: WebhookAttempt,
  { evaluate }: Pick<ExpressionPool, 'evaluate'>,
): Promise<{ readonly body: string } | { readonly detail: string }> {
  if (expression === undefined) return { body: event };
  const evaluated = await evaluate({ expressions: [expression], dot: event, variables: {} });
  return 'results' in evaluated ? { body: evaluated.results[0] ?? 'null' } : evaluated;
}

function webhookCall(
  { receiver: { url, secret, body: expression, headers = {} }, webhookId }: WebhookAttempt,
  body: string,
  { clock, userAgent }: { readonly clock: Clock; readonly userAgent: string },
): Parameters<Sender['send']>[0] {
  const { origin, pathname, search } = new URL(url);
  const bytes = Buffer.from(body);
  const timestamp = String(Math.floor(clock.now() / 1_000));
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const usual = Object.entries({
    Accept: '*/*',
    'User-Agent': userAgent,
    'Content-Type': `application/${expression === undefined ? 'cloudevents+json' : 'json'}; charset=utf-8`,
  }).filter(([name]) => !own.has(name.toLowerCase()));
  const signature = {
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signatureOf({ secret, webhookId, timestamp, bytes })}`,
  };
  return {
    origin,
    path: pathname + search,
    method: 'POST',
    headers: [
      ...usual,
      ...Object.entries(headers).map(([name, value]) => [name, value.reveal()]),
      ...Object.entries(signature),
    ].flat(),
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
  readonly secret: ReceiverOptions['secret'];
  readonly webhookId: string;
  readonly timestamp: string;
  readonly bytes: Buffer;
}): string {
  const key = Buffer.from(signed.secret.reveal().slice(secretPrefix.length), 'base64');
  return createHmac('sha256', key).update(`${signed.webhookId}.${signed.timestamp}.`).update(signed.bytes).digest('base64');
}

/** Redirects are not followed: the operator configures the address. */
function outcomeOf({ status, headers }: UpstreamReply, clock: Clock): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status };
  return { kind: 'failed', status, retryAfter: retryAfter(headers, clock) };
}
