import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Owner } from '../owner.ts';
import { until } from '../until.ts';
import { type FarHandler, type FarRequest, httpReply, type Upstream, upstream } from './upstream.ts';

/** A CloudEvent as a receiver gets it. */
interface ReceivedEvent {
  readonly webhookId: string;
  readonly type: string;
  readonly source: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A receiver of Standard Webhooks, which verifies each signature. */
export class WebhookReceiver {
  readonly far: Upstream;
  readonly secret: string;
  /** How it answers; each request is counted first. */
  answer: FarHandler = () => httpReply({ status: 204 });

  constructor(far: Upstream, key: string) {
    this.far = far;
    this.secret = `whsec_${Buffer.from(key.padEnd(32, '.')).toString('base64')}`;
    far.answer((request, socket) => this.answer(request, socket));
  }

  static async start(owner: Owner, key = 'a key of a receiver'): Promise<WebhookReceiver> {
    return new WebhookReceiver(await upstream(owner), key);
  }

  /** An address with a path and a query that no answer may show. */
  get url(): string {
    return `${this.far.url}/hook-path?token=hook-token`;
  }

  /** Every attempt, verified. */
  get attempts(): readonly ReceivedEvent[] {
    return this.far.requests.map((request) => this.#verified(request));
  }

  async has(count: number): Promise<readonly ReceivedEvent[]> {
    await until(`${count} notifications at the receiver`, () => this.far.requests.length >= count);
    return this.attempts;
  }

  /** By the specification alone: https://www.standardwebhooks.com, version 1.0.0. */
  #verified(request: FarRequest): ReceivedEvent {
    const { method, target, body } = request;
    const header = (name: string): string | undefined => request.header(name);
    assert.equal(`${method} ${target}`, 'POST /hook-path?token=hook-token');
    assert.equal(header('content-type'), 'application/cloudevents+json; charset=utf-8');
    const [id = '', timestamp = '', signatures = ''] = ['id', 'timestamp', 'signature'].map((name) => header(`webhook-${name}`));
    assert.match(id, /^msg_[\w-]{43}$/u);
    assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 120, timestamp);
    const key = Buffer.from(this.secret.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body.toString()}`).digest('base64');
    assert.ok(signatures.split(' ').includes(`v1,${expected}`), signatures);
    return { webhookId: id, ...(JSON.parse(body.toString()) as Omit<ReceivedEvent, 'webhookId'>) };
  }
}
