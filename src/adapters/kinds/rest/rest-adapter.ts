import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any other REST API that takes and gives JSON. */
export const restAdapter: AdapterKind = {
  name: 'rest',
  defaultContentType: () => 'application/json',
  sendsEmptyObject: true,
};
