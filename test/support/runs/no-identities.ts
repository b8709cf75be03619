import type { IdentityNeeds } from '../../../src/calls/identify-caller.ts';

/** For tests whose configuration has no adapter with `auth: caller`. */
export const noIdentities: IdentityNeeds = {
  names: { ofPerson: async () => undefined, ofUser: () => undefined, idsNamed: async () => [] },
  persons: { idsOf: (id) => [id] },
  principalNow: async () => undefined,
};
