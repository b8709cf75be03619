import type { AdapterKind } from '../../adapter-kind.ts';

/** Every node that answers counts as primary. */
export const restAdapter: AdapterKind = {
  name: 'rest',
  defaultContentType: () => 'application/json',
  readActions: [],
  sendsEmptyObject: true,
  probe: async (ask) => ({ ...(await ask('', '*/*')), role: 'primary' }),
};
