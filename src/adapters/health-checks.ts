import type { AdapterNode } from './adapter-node.ts';

/** Probes the nodes of an adapter instance, all at once, now and then. */
export interface HealthChecks {
  /** Resolves when every node was asked, once more or by the round that is under way. */
  checkNow(): Promise<void>;
  stop(): void;
}

/** Milliseconds at most before the first round: a start asks soon, though not all orchestrators in the same moment. */
const firstDelay = 1_000;

/** `off`: only where `checkNow` asks for it. */
export function startHealthChecks(options: {
  readonly nodes: readonly Pick<AdapterNode, 'probe'>[];
  readonly health: { readonly interval: number } | 'off';
}): HealthChecks {
  const { nodes, health } = options;
  let round: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const checkNow = (): Promise<void> => {
    round ??= Promise.all(nodes.map((node) => node.probe())).then(() => {
      round = undefined;
    });
    return round;
  };
  const plan = (interval: number, delay: number): void => {
    timer = setTimeout(() => {
      // Gateways that started together are not to ask together for ever.
      const again = (): void => {
        if (!stopped) plan(interval, interval * (0.9 + Math.random() * 0.2));
      };
      void checkNow().then(again);
    }, delay);
    timer.unref();
  };
  if (health !== 'off') plan(health.interval, Math.random() * Math.min(firstDelay, health.interval));
  return {
    checkNow,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
