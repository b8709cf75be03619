import type { AdapterKind } from '#adapters/adapter-kind.ts';
import { readRole } from './high-availability.ts';

/**
 * Cisco NSO: RESTCONF, and below `/api` the legacy REST API of releases up to 5.3, whose media types differ for the
 * built-in operations under `_operations/` and for data.
 */
export const nsoAdapter: AdapterKind = {
  name: 'nso',
  defaultContentType(path) {
    const [beforeQuery = ''] = path.split('?', 1);
    const segments = beforeQuery.split('/').filter((segment) => segment !== '');
    if (segments[0] !== 'api') return 'application/yang-data+json';
    return segments.includes('_operations') ? 'application/vnd.yang.operation+json' : 'application/vnd.yang.data+json';
  },
  sendsEmptyObject: false,
  async probe(ask) {
    const reply = await ask('restconf/data/tailf-ncs:high-availability/status', 'application/yang-data+json');
    return { reply, role: readRole(reply) };
  },
};
