import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any RESTCONF server with the media types of RFC 8040. The kind has no primary: every node that answers counts as one. */
export const restconfAdapter: AdapterKind = {
  name: 'restconf',
  defaultContentType: () => 'application/yang-data+json',
  sendsEmptyObject: false,
  probe: async (ask) => ({
    // Every server has this resource, and it is short (RFC 8040, section 9.1.1).
    reply: await ask('restconf/data/ietf-restconf-monitoring:restconf-state/capabilities', 'application/yang-data+json'),
    role: 'primary',
  }),
};
