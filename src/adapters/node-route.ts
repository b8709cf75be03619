import type { CallScope } from '#outbound/call-scope.ts';
import type { AdapterNode } from './adapter-node.ts';
import type { HealthChecks } from './health-checks.ts';
import { nodeForQuery, noPrimary, primaryOf } from './node-choice.ts';

/** Takes a slot of the node that is next, held until the scope is finished; the slot of another node is given back before. */
export function createSlotHolder(scope: CallScope): (node: AdapterNode) => Promise<void> {
  let held: AdapterNode | undefined;
  let giveBack = (): void => {};
  return async (node) => {
    // Nobody waits for a slot only to be refused then.
    node.breaker.refuse();
    if (held === node) return;
    giveBack();
    const taken = node.slots.take(scope);
    giveBack = taken instanceof Promise ? await taken : taken;
    held = node;
    scope.whenFinished(giveBack);
  };
}

interface Route {
  begin(retry: 'query' | 'action'): Promise<AdapterNode>;
  /** For a query that is repeated: a node that was not tried, at once; where there is none, after `delay` milliseconds. */
  goOn(delay: number): Promise<AdapterNode>;
  /** For an action of which no byte left: the node that is the primary now. Rejects with `failure` where there is none. */
  retryAction(delay: number, failure: unknown): Promise<AdapterNode>;
}

/** The way of one call over the nodes. */
export function createRoute(options: {
  readonly name: string;
  readonly nodes: readonly AdapterNode[];
  readonly health: HealthChecks;
  readonly scope: CallScope;
}): Route {
  const { name, nodes, health, scope } = options;
  const [only] = nodes.length === 1 ? nodes : [];
  const tried = new Set<AdapterNode>();
  const taking = (node: AdapterNode): AdapterNode => {
    tried.add(node);
    return node;
  };
  return {
    async begin(retry) {
      if (only !== undefined) return taking(only);
      if (retry === 'query') return taking(nodeForQuery(nodes, tried));
      const known = primaryOf(nodes);
      if (known !== undefined) return taking(known);
      await within(scope, health.checkNow());
      const found = primaryOf(nodes);
      if (found === undefined) throw noPrimary(name, nodes);
      return taking(found);
    },
    async goOn(delay) {
      const next = nodeForQuery(nodes, tried);
      if (tried.has(next)) await pause(delay, scope);
      return taking(next);
    },
    async retryAction(delay, failure) {
      if (only === undefined) await within(scope, health.checkNow());
      const next = only ?? primaryOf(nodes);
      if (next === undefined) throw failure;
      if (tried.has(next)) await pause(delay, scope);
      return taking(next);
    },
  };
}

function pause(milliseconds: number, scope: CallScope): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  return within(scope, promise).finally(() => clearTimeout(timer));
}

/** Rejects with the scope's reason where it ends first. */
async function within<T>(scope: CallScope, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  scope.whenEnded(reject);
  try {
    return await Promise.race([work, promise]);
  } finally {
    scope.whenEnded(undefined);
  }
}
