import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any other REST API with JSON. The kind has no primary: every node that answers counts as one. */
export const restAdapter: AdapterKind = {
  name: 'rest',
  defaultContentType: () => 'application/json',
  readActions: [],
  sendsEmptyObject: true,
  probe: async (ask) => ({ ...(await ask('', '*/*')), role: 'primary' }),
};
