import type { AdapterNode } from './adapter-node.ts';

/** Probes the nodes of an adapter instance, all at once, now and then. */
export interface HealthChecks {
  /** Asks every node that is not being asked already. Resolves once `isEnough` says so after one of them has answered, or all have. */
  checkNow(isEnough?: () => boolean): Promise<void>;
  stop(): void;
}

/** `off`: only where `checkNow` asks for it. */
export function startHealthChecks(options: {
  readonly nodes: readonly Pick<AdapterNode, 'probe'>[];
  readonly health: { readonly interval: number } | 'off';
}): HealthChecks {
  const { nodes, health } = options;
  const asked = new Map<(typeof nodes)[number], Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const ask = (node: (typeof nodes)[number]): Promise<void> => {
    const probe = asked.get(node) ?? node.probe().finally(() => asked.delete(node));
    asked.set(node, probe);
    return probe;
  };
  const checkNow = async (isEnough: () => boolean = () => false): Promise<void> => {
    const probes = nodes.map(ask);
    const enough = Promise.withResolvers<void>();
    for (const probe of probes) void probe.then(() => (isEnough() ? enough.resolve() : undefined));
    await Promise.race([enough.promise, Promise.all(probes)]);
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
