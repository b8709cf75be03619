import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any server that speaks RESTCONF with the media types of RFC 8040. It has no primary of its own: the first address that answers is one. */
export const restconfAdapter: AdapterKind = {
  name: 'restconf',
  defaultContentType: () => 'application/yang-data+json',
  sendsEmptyObject: false,
  probe: async (ask) => ({
    // RFC 8040 9.1.1: every server has it, and it is short.
    reply: await ask('restconf/data/ietf-restconf-monitoring:restconf-state/capabilities', 'application/yang-data+json'),
    role: 'primary',
  }),
};
