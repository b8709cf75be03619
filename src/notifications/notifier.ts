import { every } from '#base/timing/every.ts';
import type { Receiver } from './notification.ts';
import type { NotificationStore } from './notification-store.ts';
import { type ChannelOptions, ReceiverChannel } from './receiver-channel.ts';

/** Sends the events of the log to the receivers: each at least once, by one of the gateways on the store. */
interface Notifier {
  /** Puts these receivers in place of the earlier ones. One that was gone gets notifications again. */
  use(receivers: readonly Receiver[]): void;
  /** Resolves once no attempt is under way. One that the receiver does not answer in time is left for later. */
  stop(): Promise<void>;
}

interface NotifierOptions extends ChannelOptions {
  readonly store: ChannelOptions['store'] & Pick<NotificationStore, 'forget'>;
  /** Calls the listener when the log of events may have grown, through any gateway; the result takes that back. */
  readonly onEvents: (listener: () => void) => () => void;
  /** Milliseconds after which the store is looked at in any case. */
  readonly poll?: number;
}

const usualPoll = 1_000;
/** Milliseconds for which new events are gathered, so that a busy log is not looked at for each. */
const gathering = 100;
const forgetInterval = 60_000;
/** Milliseconds for which notifications are kept. */
const retention = 7 * 86_400_000;
const forgottenAtOnce = 1_000;
/** Milliseconds that `stop` waits for the answers of receivers. */
const patience = 2_000;

export function createNotifier(options: NotifierOptions): Notifier {
  const { store, clock, log, watcher, onEvents, poll = usualPoll } = options;
  let channels: readonly ReceiverChannel[] = [];
  /** Those of earlier configurations too, whose attempts may be under way. */
  const retired = new Set<Promise<void>>();
  const rounds = new Rounds(async () => {
    await Promise.allSettled(channels.map((channel) => channel.round(() => rounds.begin())));
  });
  const retire = (channel: ReceiverChannel, milliseconds: number): void => {
    channel.retire();
    const ended = channel.end(milliseconds).finally(() => retired.delete(ended));
    retired.add(ended);
  };
  const later = gather(() => rounds.begin());
  const silence = onEvents(later.begin);
  const ignore = (): void => undefined;
  const polling = every(poll, async () => rounds.begin(), ignore);
  const forget = async (): Promise<void> => {
    const before = clock.now() - retention;
    while ((await store.forget({ before, limit: forgottenAtOnce })) === forgottenAtOnce);
  };
  const forgetting = every(forgetInterval, forget, () =>
    log.warn('old notifications could not be deleted; the gateway tries again in a minute'),
  );
  return {
    use(receivers) {
      watcher.expect(receivers.map(({ name }) => name));
      for (const channel of channels) retire(channel, 2 * patience);
      channels = receivers.map((receiver) => new ReceiverChannel(receiver, options));
      rounds.begin();
    },
    async stop() {
      silence();
      later.stop();
      await Promise.all([polling.stop(), forgetting.stop(), rounds.stop()]);
      for (const channel of channels) retire(channel, patience);
      await Promise.all(retired);
    },
  };
}

/** Calls back once for all that begin within `gathering` milliseconds. */
function gather(callback: () => void): { readonly begin: () => void; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    timer = undefined;
    callback();
  };
  return { begin: () => void (timer ??= setTimeout(end, gathering)), stop: () => clearTimeout(timer) };
}

/** Runs `round` once at a time; a `begin` during a round brings one more. */
class Rounds {
  readonly #round: () => Promise<void>;
  #running: Promise<void> | undefined;
  #again = false;
  #isStopped = false;

  constructor(round: () => Promise<void>) {
    this.#round = round;
  }

  begin(): void {
    this.#again = true;
    if (!this.#isStopped) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#isStopped) {
      this.#again = false;
      await this.#round();
    }
    this.#running = undefined;
  }
}
