import type { AdapterKind } from '#adapters/adapter-kind.ts';
import { isNodeFault } from '#adapters/node-failure.ts';
import { askForRoot } from '#adapters/restconf-root.ts';
import { roleByRaft, roleByRules } from './high-availability.ts';
import { nsoDryRuns } from './nso-dry-runs.ts';

/**
 * Cisco NSO: RESTCONF and, below `/api`, the legacy REST API of releases up to 5.3. The legacy API has one media type for the
 * built-in operations under `_operations/` and another for data.
 */
export const nsoAdapter: AdapterKind = {
  name: 'nso',
  defaultContentType(path) {
    const [beforeQuery = ''] = path.split('?', 1);
    const segments = beforeQuery.split('/').filter((segment) => segment !== '');
    if (segments.find((segment) => segment === 'api' || segment === 'restconf') !== 'api') return 'application/yang-data+json';
    return segments.includes('_operations') ? 'application/vnd.yang.operation+json' : 'application/vnd.yang.data+json';
  },
  readActions: ['**/check-sync', '**/compare-config', '**/check-yang-modules', '**/get-modifications'],
  sendsEmptyObject: false,
  dryRuns: nsoDryRuns,
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
