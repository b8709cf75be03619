import { GatewayError } from '#base/gateway-error.ts';
import type { AdapterNode } from './adapter-node.ts';

type NodeView = Pick<AdapterNode, 'breaker' | 'standing' | 'url'>;

/** Untried nodes first; then those that admit calls, online, not degraded, the primary; then in order. */
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

/** Not offline. Of several (kinds without a primary), those that admit calls first, online ones before others. */
export function primaryOf<Node extends NodeView>(nodes: readonly Node[]): Node | undefined {
  const primaries = nodes.filter((node) => {
    const { state, role } = node.standing();
    return state !== 'offline' && role === 'primary';
  });
  const admitting = primaries.filter((node) => node.breaker.wait() === 0);
  return admitting.find((node) => node.standing().state === 'online') ?? admitting[0] ?? primaries[0];
}

/** No earlier node can still turn out to be one. */
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
