import { createHash } from 'node:crypto';
import type { Secret } from '#base/secret.ts';

/** Who gets notifications, as configured. */
export interface ReceiverOptions {
  /** Http or https. Its path and query may hold a secret. */
  readonly url: string;
  /** Patterns of event types: `*` is any text without a dot, `**` any text. */
  readonly events: readonly string[];
  /** `whsec_` and base64 (Standard Webhooks 1.0). */
  readonly secret: Secret;
  /** A jq expression over the event, which gives the body. Absent: the CloudEvent itself. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, Secret>>;
}

/** `waiting`: it will be sent, or is being sent. `failed`: every attempt failed. `dropped`: its receiver is gone. */
export const notificationStatuses = ['waiting', 'delivered', 'failed', 'dropped'] as const;

export type NotificationStatus = (typeof notificationStatuses)[number];

/** An event for one receiver. Times are milliseconds since the epoch. */
export interface Notification {
  readonly number: number;
  /** The id of the receiver. */
  readonly receiver: string;
  /** The number of the event in the log. */
  readonly event: number;
  /** The same for all attempts: the receiver knows a repetition by it. */
  readonly webhookId: string;
  readonly type: string;
  readonly status: NotificationStatus;
  readonly attempts: number;
  readonly createdAt: number;
  readonly dueAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly lastStatus: number | undefined;
  readonly lastCode: string | undefined;
}

/** What came of an attempt. */
export interface AttemptOutcome {
  readonly kind: 'delivered' | 'gone' | 'failed';
  /** Of the reply. */
  readonly status?: number | undefined;
  /** Where there was no reply: of the error table, or `body-expression`. */
  readonly code?: string | undefined;
  /** Of `body-expression`: what jq says, which may quote the event. */
  readonly reason?: string | undefined;
  /** Milliseconds that the receiver asked to wait (Retry-After). */
  readonly retryAfter?: number | undefined;
}

/** A receiver with what names it. */
export interface Receiver extends ReceiverOptions {
  /** In the store: a hash of the address, which may hold a secret. */
  readonly id: string;
  /** For people and metrics: host and port; a further receiver with the same has a number. */
  readonly name: string;
  readonly wants: (type: string) => boolean;
}

export function receiversOf(configured: readonly ReceiverOptions[]): readonly Receiver[] {
  const seen = new Map<string, number>();
  return configured.map((options) => {
    const { host } = new URL(options.url);
    const count = (seen.get(host) ?? 0) + 1;
    seen.set(host, count);
    return {
      ...options,
      id: createHash('sha256').update(options.url).digest('base64url'),
      name: count === 1 ? host : `${host} #${count}`,
      wants: wantsOf(options.events),
    };
  });
}

/** Whether one of the patterns matches an event type. */
export function wantsOf(patterns: readonly string[]): (type: string) => boolean {
  const matchers = patterns.map(matcherOf);
  return (type) => matchers.some((matcher) => matcher.test(type));
}

/** `**` is any text, `*` any text without a dot. */
function matcherOf(pattern: string): RegExp {
  const parts = pattern.split(/(\*+)/u).map((part) => {
    if (part === '*') return '[^.]*';
    return part.startsWith('*') ? '.*' : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join('')}$`, 'u');
}
