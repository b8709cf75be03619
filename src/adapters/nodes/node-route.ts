import { type CallScope, pause, untilAborted } from '#outbound/call/call-scope.ts';
import type { AdapterNode } from './adapter-node.ts';
import type { NodeCall } from './node-call.ts';
import { isPrimaryKnown, nodeForQuery, noPrimary, primaryOf } from './node-choice.ts';
import type { AttemptResult } from './node-failure.ts';

interface NodeRouteOptions {
  readonly name: string;
  readonly nodes: readonly AdapterNode[];
  readonly health: HealthChecks;
  readonly scope: CallScope;
}

/** Changes go only to the primary. */
export type Target = 'any' | 'primary';

/** The attempts of one call. Holds one slot at a time, the last until the scope ends. */
export class NodeRoute {
  readonly #options: NodeRouteOptions;
  readonly #tried: AdapterNode[] = [];
  /** Of the last attempt that left, by node. */
  readonly #results = new Map<AdapterNode, AttemptResult>();
  #held: AdapterNode | undefined;

  constructor(options: NodeRouteOptions) {
    this.#options = options;
  }

  /** Not a promise if it is known. Rejects with `adapter-unavailable` where the primary is needed and missing. */
  begin(target: Target): AdapterNode | Promise<AdapterNode> {
    const { name, nodes } = this.#options;
    if (this.#only !== undefined) return this.#only;
    if (target === 'any') return nodeForQuery(nodes, this.#tried);
    return primaryOf(nodes) ?? this.#primaryNow().then((primary) => primary ?? Promise.reject(noPrimary(name, nodes)));
  }

  /** Changes the slot to that of the node, and sends. Never rejects. */
  attempt(node: AdapterNode, call: NodeCall): Promise<AttemptResult> {
    const { scope } = this.#options;
    this.#tried.push(node);
    try {
      const taking = this.#takeSlot(node);
      if (taking === undefined) return node.send(call, scope);
      return taking.then(
        () => node.send(call, scope),
        (failure: unknown) => ({ failure }),
      );
    } catch (failure) {
      return Promise.resolve({ failure });
    }
  }

  /** For `count`. */
  keep(node: AdapterNode, result: AttemptResult): void {
    this.#results.set(node, result);
  }

  /** Once, at the end of the call: its repetitions do not open the breaker for it. */
  async count(): Promise<void> {
    for (const [node, result] of this.#results) await node.count(result);
  }

  /** More than `delay` milliseconds are left, or an untried node admits calls now. */
  mayContinue(target: Target, delay: number): boolean {
    const { nodes, scope } = this.#options;
    if (delay < scope.remaining()) return true;
    return target === 'any' && nodes.some((node) => !this.#tried.includes(node) && node.breaker.wait() === 0);
  }

  /** The best untried node at once, else the best after `delay` milliseconds; for `primary` the present one. Rejects as `last` if there is none. */
  async next(target: Target, delay: number, last: AttemptResult): Promise<AdapterNode> {
    const { name, nodes, scope } = this.#options;
    const found = this.#only ?? (target === 'any' ? nodeForQuery(nodes, this.#tried) : await this.#primaryNow());
    if (found === undefined) throw 'failure' in last ? last.failure : noPrimary(name, nodes);
    if (this.#tried.includes(found)) await pause(scope, delay);
    return found;
  }

  get #only(): AdapterNode | undefined {
    const { nodes } = this.#options;
    return nodes.length === 1 ? nodes[0] : undefined;
  }

  async #primaryNow(): Promise<AdapterNode | undefined> {
    const { nodes, health, scope } = this.#options;
    // A node that hangs does not delay the call if another is the primary.
    await untilAborted(
      scope,
      health.checkNow(() => isPrimaryKnown(nodes)),
    );
    return primaryOf(nodes);
  }

  /** No promise if a slot is free. */
  #takeSlot(node: AdapterNode): Promise<void> | undefined {
    // A call must not wait for a slot and then be refused.
    node.breaker.refuse();
    if (this.#held === node) return undefined;
    this.#release();
    const taken = node.takeSlot(this.#options.scope);
    if (taken !== undefined) return taken.then(() => this.#hold(node));
    this.#hold(node);
    return undefined;
  }

  #hold(node: AdapterNode): void {
    this.#held = node;
    this.#options.scope.whenEnded(() => this.#release());
  }

  #release(): void {
    this.#held?.slots.release();
    this.#held = undefined;
  }
}

interface HealthChecks {
  /** Each node once at a time. Resolves with all, or when `isEnough` says so. */
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
  // Random, so that gateways started together do not probe together.
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
