import type { AdapterKind } from '#adapters/adapter-kind.ts';
import { askForRoot } from '#adapters/restconf-root.ts';

/** Any RESTCONF server with the media types of RFC 8040. The kind has no primary: every node that answers counts as one. */
export const restconfAdapter: AdapterKind = {
  name: 'restconf',
  defaultContentType: () => 'application/yang-data+json',
  readActions: [],
  sendsEmptyObject: false,
  probe: async (ask) => ({ ...(await askForRoot(ask)), role: 'primary' }),
};
