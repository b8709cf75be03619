import { createHash } from 'node:crypto';
import type { ReceiverOptions } from './notification.ts';

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
