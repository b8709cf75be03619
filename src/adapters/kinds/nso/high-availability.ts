import type { NodeRole } from '#adapters/adapter-kind.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';

/**
 * The role of a node from `tailf-ncs:high-availability/status` (NSO Administration Guide, High Availability). `mode` is none,
 * primary or secondary; other releases say master and slave, or leader and follower. `read-only-mode` refuses changes in every
 * mode. Undefined if the node takes no part in rule-based high availability (no content, 404, mode none).
 */
export function roleByRules(reply: FarSideReply): NodeRole | undefined {
  const status = memberOf(reply, 'tailf-ncs:status');
  if (!isObject(status)) return undefined;
  const { mode, 'read-only-mode': readOnly } = status;
  if (secondaries.has(String(mode))) return 'secondary';
  if (readOnly === true) return 'read-only';
  return mode === undefined || mode === 'none' ? undefined : 'primary';
}

/** The role of a node from `tailf-ncs:ha-raft/status/role`. Undefined if Raft is not enabled. */
export function roleByRaft(reply: FarSideReply): NodeRole | undefined {
  const role = memberOf(reply, 'tailf-ncs:role');
  if (role === 'leader') return 'primary';
  return role === 'follower' || role === 'candidate' || role === 'stalled' ? 'secondary' : undefined;
}

const secondaries: ReadonlySet<string> = new Set([
  'secondary',
  'slave',
  'follower',
  'candidate',
  'relay-slave',
  'relay-secondary',
]);

function memberOf({ status, head }: FarSideReply, name: string): unknown {
  if (status !== 200) return undefined;
  try {
    const parsed = JSON.parse(head.toString('utf8')) as unknown;
    return isObject(parsed) ? parsed[name] : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
