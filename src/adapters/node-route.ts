import type { CallScope } from '#outbound/call-scope.ts';
import { pause, untilAborted } from '#outbound/until-aborted.ts';
import type { AdapterNode, NodeCall } from './adapter-node.ts';
import type { HealthChecks } from './health-checks.ts';
import { isPrimaryKnown, nodeForQuery, noPrimary, primaryOf } from './node-choice.ts';
import type { AttemptResult } from './node-failure.ts';

interface NodeRouteOptions {
  /** The name of the adapter instance. */
  readonly name: string;
  readonly nodes: readonly AdapterNode[];
  readonly health: HealthChecks;
  readonly scope: CallScope;
}

/** Which nodes can execute a call. Changes go only to the primary. */
export type Target = 'any' | 'primary';

/** The attempts of one call at the nodes of its adapter instance. It holds one slot at a time, and the last slot until the scope ends. */
export class NodeRoute {
  readonly #options: NodeRouteOptions;
  readonly #tried: AdapterNode[] = [];
  /** Of each node the result of the last attempt that left. */
  readonly #results = new Map<AdapterNode, AttemptResult>();
  #held: AdapterNode | undefined;

  constructor(options: NodeRouteOptions) {
    this.#options = options;
  }

  /** The node of the first attempt; not a promise if it is known. Rejects with `adapter-unavailable` if a primary is needed and there is none. */
  begin(target: Target): AdapterNode | Promise<AdapterNode> {
    const { name, nodes } = this.#options;
    if (this.#only !== undefined) return this.#only;
    if (target === 'any') return nodeForQuery(nodes, this.#tried);
    return primaryOf(nodes) ?? this.#primaryNow().then((primary) => primary ?? Promise.reject(noPrimary(name, nodes)));
  }

  /** Takes a slot of the node, releases the slot of another node, and sends the call. Never rejects. */
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

  /** Keeps the result of an attempt for `count`. */
  keep(node: AdapterNode, result: AttemptResult): void {
    this.#results.set(node, result);
  }

  /**
   * To be called once, when the call has ended. A call counts once at a node, so that its own repetitions do not open the breaker
   * for it.
   */
  async count(): Promise<void> {
    for (const [node, result] of this.#results) await node.count(result);
  }

  /** True if more than `delay` milliseconds are left, or if a node that was not tried admits calls, which needs no delay. */
  mayContinue(target: Target, delay: number): boolean {
    const { nodes, scope } = this.#options;
    if (delay < scope.remaining()) return true;
    return target === 'any' && nodes.some((node) => !this.#tried.includes(node) && node.breaker.wait() === 0);
  }

  /**
   * The node of the next attempt: the best node that was not tried, at once, or the best of all nodes after `delay` milliseconds. If
   * the target is the primary, the node that is the primary now. Rejects with the failure of `last` if there is none.
   */
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
    // A node that hangs does not delay the call if another node is the primary.
    await untilAborted(
      scope,
      health.checkNow(() => isPrimaryKnown(nodes)),
    );
    return primaryOf(nodes);
  }

  /** Returns no promise if a slot is free. */
  #takeSlot(node: AdapterNode): Promise<void> | undefined {
    // The breaker comes first: a call must not wait for a slot and then be refused.
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
