import type { NodeRole } from '#adapters/adapter-kind.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';

/**
 * The role of a node from `tailf-ncs:high-availability/status` (NSO Administration Guide, High Availability): `mode` is none, primary
 * or secondary, in other releases master and slave or leader and follower; `read-only-mode` refuses writes whatever the mode. A node
 * without high availability (no content, 404, mode none) is its own primary.
 */
export function readRole({ status, head }: FarSideReply): NodeRole {
  if (status !== 200) return 'primary';
  const found = statusIn(head.toString('utf8'));
  if (found === undefined) return 'primary';
  if (secondaries.has(String(found['mode']))) return 'secondary';
  return found['read-only-mode'] === true ? 'read-only' : 'primary';
}

const secondaries: ReadonlySet<string> = new Set([
  'secondary',
  'slave',
  'follower',
  'candidate',
  'relay-slave',
  'relay-secondary',
]);

function statusIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed = JSON.parse(text) as unknown;
    return isObject(parsed) && isObject(parsed['tailf-ncs:status']) ? parsed['tailf-ncs:status'] : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
