import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any server that speaks RESTCONF with the media types of RFC 8040. */
export const restconfAdapter: AdapterKind = {
  name: 'restconf',
  defaultContentType: () => 'application/yang-data+json',
  sendsEmptyObject: false,
};
