import type { CallScope } from '#outbound/call-scope.ts';
import { pause, untilAborted } from '#outbound/until-aborted.ts';
import type { AdapterNode, NodeCall, Sent } from './adapter-node.ts';
import type { HealthChecks } from './health-checks.ts';
import { isPrimaryKnown, nodeForQuery, noPrimary, primaryOf } from './node-choice.ts';

interface NodeRouteOptions {
  /** Of the adapter instance. */
  readonly name: string;
  readonly nodes: readonly AdapterNode[];
  readonly health: HealthChecks;
  readonly scope: CallScope;
}

/** Which nodes can carry a call out: changes are the primary's. */
type Target = 'any' | 'primary';

/** The way of one call over the nodes of its adapter instance. It holds a slot of one of them at a time, the last until the scope is finished. */
export class NodeRoute {
  readonly #options: NodeRouteOptions;
  readonly #tried: AdapterNode[] = [];
  #held: AdapterNode | undefined;
  #giveBack: (() => void) | undefined;

  constructor(options: NodeRouteOptions) {
    this.#options = options;
  }

  /** The node to begin with. Rejects with `adapter-unavailable` where there is no primary to go to. No promise where it is known. */
  begin(target: Target): AdapterNode | Promise<AdapterNode> {
    const { name, nodes } = this.#options;
    if (this.#only !== undefined) return this.#only;
    if (target === 'any') return nodeForQuery(nodes, this.#tried);
    return primaryOf(nodes) ?? this.#primaryNow().then((primary) => primary ?? Promise.reject(noPrimary(name, nodes)));
  }

  /** Takes a slot of the node, gives one of another node back, and sends the call. Never rejects. */
  attempt(node: AdapterNode, call: NodeCall): Promise<Sent> {
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

  /** The time that is left is more than `delay` milliseconds, or there is a node that was not tried and takes calls: nobody waits then. */
  canGoOn(target: Target, delay: number): boolean {
    const { nodes, scope } = this.#options;
    if (delay < scope.remaining()) return true;
    return target === 'any' && nodes.some((node) => !this.#tried.includes(node) && node.breaker.wait() === 0);
  }

  /**
   * The best node that was not tried, at once, or the best of all after `delay` milliseconds; where it takes the primary (no byte of
   * the call left), the node that is that now. Rejects with the failure of `last` where there is none.
   */
  async next(target: Target, delay: number, last: Sent): Promise<AdapterNode> {
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
    // A node that hangs does not hold the call up where another one is the primary.
    await untilAborted(
      scope,
      health.checkNow(() => isPrimaryKnown(nodes)),
    );
    return primaryOf(nodes);
  }

  /** No promise where a slot is free. */
  #takeSlot(node: AdapterNode): Promise<void> | undefined {
    // Nobody waits for a slot only to be refused then.
    node.breaker.refuse();
    if (this.#held === node) return undefined;
    this.#giveBack?.();
    const taken = node.slots.take(this.#options.scope);
    if (taken instanceof Promise) return taken.then((release) => this.#hold(node, release));
    this.#hold(node, taken);
    return undefined;
  }

  #hold(node: AdapterNode, release: () => void): void {
    this.#giveBack = release;
    this.#held = node;
    this.#options.scope.whenEnded(release);
  }
}
