import type { AdapterNode } from './adapter-node.ts';

/** Probes all nodes of an adapter instance at intervals and on demand. */
export interface HealthChecks {
  /**
   * Probes every node that is not being probed already. Resolves when all probes have ended, or earlier if `isEnough` returns
   * true after one of them.
   */
  checkNow(isEnough?: () => boolean): Promise<void>;
  stop(): void;
}

/** `off`: only `checkNow` probes. */
export function startHealthChecks(options: {
  readonly nodes: readonly Pick<AdapterNode, 'probe'>[];
  readonly health: { readonly interval: number } | 'off';
}): HealthChecks {
  const { nodes, health } = options;
  const probing = new Map<(typeof nodes)[number], Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const probeOnce = (node: (typeof nodes)[number]): Promise<void> => {
    const probe = probing.get(node) ?? node.probe().finally(() => probing.delete(node));
    probing.set(node, probe);
    return probe;
  };
  const checkNow = async (isEnough: () => boolean = () => false): Promise<void> => {
    const probes = nodes.map(probeOnce);
    const enough = Promise.withResolvers<void>();
    for (const probe of probes) void probe.then(() => (isEnough() ? enough.resolve() : undefined));
    await Promise.race([enough.promise, Promise.all(probes)]);
  };
  // The delay is never longer than the interval, and random, so that gateways that started together do not always probe together.
  const schedule = (interval: number): void => {
    timer = setTimeout(
      () => {
        const again = (): void => {
          if (!stopped) schedule(interval);
        };
        void checkNow().then(again);
      },
      interval * (0.8 + Math.random() * 0.2),
    );
    timer.unref();
  };
  if (health !== 'off') schedule(health.interval);
  return {
    checkNow,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
