import type { AdapterNode } from './adapter-node.ts';

/** Probes the nodes of an adapter instance, all at once, now and then. */
export interface HealthChecks {
  /** Resolves when every node was asked, once more or by the round that is under way. */
  checkNow(): Promise<void>;
  stop(): void;
}

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
  // Never later than asked for, and not always the same: gateways that started together are not to ask together for ever.
  const plan = (interval: number): void => {
    timer = setTimeout(
      () => {
        const again = (): void => {
          if (!stopped) plan(interval);
        };
        void checkNow().then(again);
      },
      interval * (0.8 + Math.random() * 0.2),
    );
    timer.unref();
  };
  if (health !== 'off') plan(health.interval);
  return {
    checkNow,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
