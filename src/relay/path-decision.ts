import { decidePath, type PathRights } from '#adapters/path-rights.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import type { RuleDecision } from './relayed-call.ts';

/** The decision by the path rights of an adapter instance. */
export function decideDestination(
  adapter: { readonly name: string; readonly settings: PathRights },
  method: OutboundCall['method'],
  path: string,
): RuleDecision {
  const { allowed, reason } = decidePath(adapter.settings, method === 'GET' ? 'queries' : 'actions', path);
  if (allowed) return { allowed, rule: reason };
  const detail = `The adapter instance "${adapter.name}" does not allow this path: ${reason}. Ask its operator.`;
  return { allowed, rule: reason, refusal: new GatewayError('path-denied', detail) };
}
