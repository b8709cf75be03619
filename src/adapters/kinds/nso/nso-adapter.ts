import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { AdapterKind, Ask, NodeRole } from '../../adapter-kind.ts';
import { reservedAccounts } from '../../credentials/reserved-accounts.ts';
import type { DryRuns } from '../../dry-runs.ts';
import { isNodeFault } from '../../nodes/node-failure.ts';
import { askForRoot } from '../../restconf.ts';
import { nsoStamps } from './commit-stamp.ts';
import { proveNso, readDryRun } from './dry-run-answer.ts';
import { writeDryRun } from './dry-run-request.ts';

/** NSO Development Guide, "RESTCONF API", query parameters. */
const nsoDryRuns: DryRuns = {
  write: writeDryRun,
  prove: proveNso,
  accept: 'application/yang-data+json',
  read: readDryRun,
};

/** RESTCONF and, below `/api`, the legacy REST API up to 5.3, with one media type for `_operations/` and another for data. */
export const nsoAdapter: AdapterKind = {
  name: 'nso',
  defaultContentType(path) {
    const [beforeQuery = ''] = path.split('?', 1);
    const segments = beforeQuery.split('/').filter((segment) => segment !== '');
    if (segments.find((segment) => segment === 'api' || segment === 'restconf') !== 'api') return 'application/yang-data+json';
    return segments.includes('_operations') ? 'application/vnd.yang.operation+json' : 'application/vnd.yang.data+json';
  },
  otherInterfaces: ['mcp', 'jsonrpc', 'login', 'logout', 'sso', 'webui'],
  readActions: ['**/check-sync', '**/compare-config', '**/check-yang-modules', '**/get-modifications'],
  sendsEmptyObject: false,
  dryRuns: nsoDryRuns,
  stamps: nsoStamps,
  namedPeople: namedInNacm,
  async probe(ask) {
    const ruleBased = await ask('restconf/data/tailf-ncs:high-availability/status', json);
    const role = roleByRules(ruleBased.reply);
    const { status } = ruleBased.reply;
    if (role !== undefined || status === 401 || isNodeFault(ruleBased.reply)) return { ...ruleBased, role: role ?? 'primary' };
    const raft = await ask('restconf/data/tailf-ncs:ha-raft/status/role', json);
    const roleInGroup = roleByRaft(raft.reply);
    return roleInGroup === undefined ? { ...(await askForRoot(ask)), role: 'primary' } : { ...raft, role: roleInGroup };
  },
};

const json = 'application/yang-data+json';

/** NACM (RFC 8341). A reserved name is of no person. */
async function namedInNacm(ask: Ask): Promise<readonly string[] | undefined> {
  const { reply } = await ask('restconf/data/ietf-netconf-acm:nacm/groups', json);
  if (reply.status === 204) return [];
  const groups = memberOf(reply, 'ietf-netconf-acm:groups');
  const list = isObject(groups) ? groups['group'] : undefined;
  if (!Array.isArray(list)) return undefined;
  const names = list.flatMap((group) => (isObject(group) && Array.isArray(group['user-name']) ? group['user-name'] : []));
  return [...new Set(names.map(String))].filter((name) => !reservedAccounts.has(name)).toSorted();
}

/** NSO Administration Guide, High Availability. Releases name `mode` differently; `read-only-mode` refuses changes in each. Undefined: no rule-based high availability. */
function roleByRules(reply: UpstreamReply): NodeRole | undefined {
  const status = memberOf(reply, 'tailf-ncs:status');
  if (!isObject(status)) return undefined;
  const { mode, 'read-only-mode': readOnly } = status;
  if (secondaries.has(String(mode))) return 'secondary';
  if (readOnly === true) return 'read-only';
  return mode === undefined || mode === 'none' ? undefined : 'primary';
}

/** Undefined: Raft is not enabled. */
function roleByRaft(reply: UpstreamReply): NodeRole | undefined {
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

function memberOf({ status, head }: UpstreamReply, name: string): unknown {
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
