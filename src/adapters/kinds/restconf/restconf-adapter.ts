import type { AdapterKind } from '../../adapter-kind.ts';
import { askForRoot } from '../../restconf.ts';

/** RFC 8040. Every node that answers counts as primary. */
export const restconfAdapter: AdapterKind = {
  name: 'restconf',
  defaultContentType: () => 'application/yang-data+json',
  readActions: [],
  sendsEmptyObject: false,
  probe: async (ask) => ({ ...(await askForRoot(ask)), role: 'primary' }),
};
