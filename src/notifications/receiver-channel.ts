import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AttemptOutcome, Receiver } from './notification.ts';
import type { ClaimedNotification, NotificationStore, Settlement } from './notification-store.ts';
import type { SendWebhook } from './webhook.ts';

/** Sees what comes of the notifications that this gateway sends. */
export interface NotificationWatcher {
  /** The counts of these receivers start at 0. */
  expect(receivers: readonly string[]): void;
  attempted(receiver: string, outcome: AttemptOutcome['kind']): void;
  /** Every attempt failed: the receiver does not get it. */
  gaveUp(receiver: string): void;
}

export interface ChannelOptions {
  readonly store: Pick<NotificationStore, 'welcome' | 'scan' | 'claim' | 'settle' | 'disable'>;
  readonly send: SendWebhook;
  readonly clock: Clock;
  readonly log: Log;
  readonly watcher: NotificationWatcher;
  /** Milliseconds before each further attempt. After the last one the notification has failed. */
  readonly delays?: readonly number[] | undefined;
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
/** Some 76 hours, as Standard Webhooks 1.0 recommends. The first ones are closer, because people wait for approvals. */
const usualDelays: readonly number[] = [
  2 * second,
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour),
];
/** Part of the delay that is added at random, so that many notifications do not come back together. */
const jitter = 0.2;
const maxRetryAfter = hour;
const attemptsAtOnce = 4;
/** Milliseconds. An older event is not sent: the receiver was not in the configuration, or no gateway ran. */
const oldestEvent = 24 * hour;
/** Milliseconds for which this gateway has a notification to itself: longer than an attempt. */
const lease = 30_000;
/** Milliseconds after which the outcome of an attempt is written again, while the store is away. */
const storeWait = 1_000;

/** The notifications for one receiver at this gateway. */
export class ReceiverChannel {
  readonly receiver: Receiver;
  readonly #options: ChannelOptions;
  readonly #attempts = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #isWelcome = false;
  #isRetired = false;
  #isFailing = false;

  constructor(receiver: Receiver, options: ChannelOptions) {
    this.receiver = receiver;
    this.#options = options;
  }

  /** Looks at the store, and begins attempts; `whenEnded` is called after each. Rejects with `store-unavailable`. */
  async round(whenEnded: () => void): Promise<void> {
    const { store, clock } = this.#options;
    const { id, wants } = this.receiver;
    if (!this.#isWelcome) await store.welcome(id);
    this.#isWelcome = true;
    while (!this.#isRetired && (await store.scan(id, { wants, since: clock.now() - oldestEvent })));
    if (this.#isRetired) return;
    for (const claimed of await store.claim(id, { limit: attemptsAtOnce - this.#attempts.size, lease })) {
      const attempt = this.#attempt(claimed).finally(() => {
        this.#attempts.delete(attempt);
        whenEnded();
      });
      this.#attempts.add(attempt);
    }
  }

  /** Begins nothing more. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Resolves once no attempt is under way. After `patience` milliseconds it aborts them. */
  async end(patience: number): Promise<void> {
    const impatient = setTimeout(() => this.#abort.abort(), patience);
    await Promise.all(this.#attempts);
    clearTimeout(impatient);
  }

  async #attempt(claimed: ClaimedNotification): Promise<void> {
    const { send, watcher, store } = this.#options;
    const { name, id } = this.receiver;
    const { signal } = this.#abort;
    const { webhookId, body: event } = claimed;
    const outcome = await send({ receiver: this.receiver, webhookId, event }, signal);
    const settlement = signal.aborted ? ({ status: 'waiting', outcome, wait: 0 } as const) : this.#settlementOf(claimed, outcome);
    watcher.attempted(name, outcome.kind);
    if (settlement.status === 'failed' && outcome.kind === 'failed') watcher.gaveUp(name);
    this.#note(outcome);
    await this.#untilStored(() => store.settle(claimed, settlement));
    if (outcome.kind !== 'gone') return;
    this.retire();
    await this.#untilStored(() => store.disable(id));
  }

  #settlementOf({ attempts }: ClaimedNotification, outcome: AttemptOutcome): Settlement {
    if (outcome.kind === 'delivered') return { status: 'delivered', outcome };
    const { delays = usualDelays } = this.#options;
    const delay = outcome.kind === 'gone' ? undefined : delays[attempts - 1];
    if (delay === undefined) return { status: 'failed', outcome };
    const asked = Math.min(outcome.retryAfter ?? 0, maxRetryAfter);
    return { status: 'waiting', outcome, wait: Math.max(delay * (1 + Math.random() * jitter), asked) };
  }

  /** One line when a receiver begins to fail, and one when it works again. */
  #note({ kind, status, code, reason }: AttemptOutcome): void {
    const { log } = this.#options;
    const about = { address: this.receiver.name, status, code, reason };
    if (kind === 'gone') log.warn('a receiver of notifications is gone: it gets none until the next reload', about);
    else if (kind === 'failed' && !this.#isFailing) log.warn('a receiver of notifications fails; the gateway tries again', about);
    else if (kind === 'delivered' && this.#isFailing) log.info('a receiver of notifications works again', about);
    this.#isFailing = kind === 'failed';
  }

  /** Tries again while the store is away, as long as the lease may last: after that another gateway sends it again. */
  async #untilStored(write: () => Promise<void>): Promise<void> {
    for (let left = lease / storeWait; left > 0; left -= 1) {
      try {
        await write();
        return;
      } catch {
        if (this.#abort.signal.aborted) return;
        await sleep(storeWait);
      }
    }
  }
}
