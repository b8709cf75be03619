import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { within } from '#outbound/within.ts';
import type { AdapterNode, NodeCall } from './adapter-node.ts';
import type { HealthChecks } from './health-checks.ts';
import { nodeForQuery, noPrimary, primaryOf } from './node-choice.ts';

/** How sending a call once ended. */
export type Attempt = { readonly reply: FarSideReply } | { readonly failure: unknown };

/** The way of one call over the nodes of its adapter instance. */
interface Route {
  /** The node to begin with. Rejects with `adapter-unavailable` where an action has no primary to go to. No promise where it is known. */
  begin(retry: 'query' | 'action'): AdapterNode | Promise<AdapterNode>;
  /** Takes a slot of the node, gives one of another node back, and sends the call. */
  attempt(node: AdapterNode, call: NodeCall): Promise<Attempt>;
  /**
   * For a query the best node that was not tried, at once, or the best of all after `delay` milliseconds; for an action, of which no
   * byte left, the node that is the primary now. Rejects with the failure of `last` where there is none.
   */
  next(retry: 'query' | 'action', delay: number, last: Attempt): Promise<AdapterNode>;
}

export function createRoute(options: {
  readonly name: string;
  readonly nodes: readonly AdapterNode[];
  readonly health: HealthChecks;
  readonly scope: CallScope;
}): Route {
  const { name, nodes, health, scope } = options;
  const [only] = nodes.length === 1 ? nodes : [];
  const tried = new Set<AdapterNode>();
  const takeSlot = createSlotHolder(scope);
  const primaryNow = async (): Promise<AdapterNode | undefined> => {
    await within(scope, health.checkNow());
    return primaryOf(nodes);
  };
  return {
    begin(retry) {
      if (only !== undefined) return only;
      if (retry === 'query') return nodeForQuery(nodes, tried);
      return primaryOf(nodes) ?? primaryNow().then((primary) => primary ?? Promise.reject(noPrimary(name, nodes)));
    },
    async attempt(node, call) {
      tried.add(node);
      try {
        const taking = takeSlot(node);
        if (taking !== undefined) await taking;
        return { reply: await node.send(call, scope) };
      } catch (failure) {
        return { failure };
      }
    },
    async next(retry, delay, last) {
      const found = only ?? (retry === 'query' ? nodeForQuery(nodes, tried) : await primaryNow());
      if (found === undefined) throw 'failure' in last ? last.failure : noPrimary(name, nodes);
      if (tried.has(found)) await pause(delay, scope);
      return found;
    },
  };
}

/**
 * Takes a slot of the node that is next, held until the scope is finished; the slot of another node is given back before. No promise
 * where one is free.
 */
function createSlotHolder(scope: CallScope): (node: AdapterNode) => Promise<void> | undefined {
  let held: AdapterNode | undefined;
  let giveBack = (): void => {};
  const hold = (node: AdapterNode, release: () => void): undefined => {
    giveBack = release;
    held = node;
    scope.whenFinished(release);
  };
  return (node) => {
    // Nobody waits for a slot only to be refused then.
    node.breaker.refuse();
    if (held === node) return undefined;
    giveBack();
    const taken = node.slots.take(scope);
    return taken instanceof Promise ? taken.then((release) => hold(node, release)) : hold(node, taken);
  };
}

function pause(milliseconds: number, scope: CallScope): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  return within(scope, promise).finally(() => clearTimeout(timer));
}
