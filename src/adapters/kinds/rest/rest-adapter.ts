import type { AdapterKind } from '#adapters/adapter-kind.ts';

/** Any other REST API that takes and gives JSON. It has no primary of its own: the first address that answers is one. */
export const restAdapter: AdapterKind = {
  name: 'rest',
  defaultContentType: () => 'application/json',
  sendsEmptyObject: true,
  probe: async (ask) => ({ reply: await ask('', '*/*'), role: 'primary' }),
};
