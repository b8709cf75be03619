import { GatewayError } from '#base/gateway-error.ts';
import type { AdapterNode } from './adapter-node.ts';

/** The part of a node that the choice depends on. */
type NodeView = Pick<AdapterNode, 'breaker' | 'standing' | 'url'>;

/**
 * The node for a query. Nodes in `tried` come last. Among the others, nodes that admit calls come first, then online nodes, then
 * degraded ones, then the primary, then the order of the configuration.
 */
export function nodeForQuery<Node extends NodeView>(nodes: readonly Node[], tried: readonly Node[]): Node {
  const rank = (node: Node): number => {
    const { state, role } = node.standing();
    return (
      (tried.includes(node) ? 16 : 0) +
      (node.breaker.wait() > 0 ? 8 : 0) +
      (state === 'offline' ? 4 : 0) +
      (state === 'degraded' ? 2 : 0) +
      (role === 'primary' ? 0 : 1)
    );
  };
  const [best] = nodes.toSorted((one, other) => rank(one) - rank(other));
  if (best === undefined) throw new Error('An adapter instance has at least one node.');
  return best;
}

/**
 * The first node with the role `primary` that is not offline. If several have it, as with kinds without a primary, nodes whose breaker
 * admits calls come first. Of those, online nodes come first.
 */
export function primaryOf<Node extends NodeView>(nodes: readonly Node[]): Node | undefined {
  const primaries = nodes.filter((node) => {
    const { state, role } = node.standing();
    return state !== 'offline' && role === 'primary';
  });
  const admitting = primaries.filter((node) => node.breaker.wait() === 0);
  return admitting.find((node) => node.standing().state === 'online') ?? admitting[0] ?? primaries[0];
}

/** True if the primary is certain before all probes have ended: no node earlier in the order can still turn out to be one. */
export function isPrimaryKnown(nodes: readonly NodeView[]): boolean {
  const primary = primaryOf(nodes);
  if (primary === undefined) return false;
  return nodes.slice(0, nodes.indexOf(primary)).every((node) => {
    const { state, role } = node.standing();
    return state === 'offline' || role !== undefined;
  });
}

export function noPrimary(name: string, nodes: readonly NodeView[]): GatewayError {
  const found = nodes.map((node) => {
    const { state, role, lastError } = node.standing();
    return `${node.url} is ${state === 'offline' ? `offline (${lastError?.code ?? 'unknown'})` : (role ?? 'of unknown role')}`;
  });
  return new GatewayError(
    'adapter-unavailable',
    `The adapter instance "${name}" has no primary for an action: ${found.join(', ')}. Nothing was sent; try again later.`,
    { headers: { 'Retry-After': '5' } },
  );
}
