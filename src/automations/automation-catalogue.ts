import type { Principal } from '#access/principal.ts';
import type { Database } from '#database/database.ts';
import type { Automation } from './automation.ts';
import { createAutomationStore } from './automation-store.ts';
import { readListOptions } from './list-options.ts';

/** One page of a listing, with the values in effect. */
export interface AutomationListing {
  readonly list: readonly Automation[];
  readonly total: number;
  readonly skip: number;
  readonly limit: number;
}

export interface AutomationCatalogue {
  /**
   * What of the catalogue the principal may see, by the query string. Its role is judged before; here its groups are. Rejects
   * with `invalid-request` (400) where the query string is wrong, with `store-unavailable` (503) where the store is.
   */
  list(request: { readonly principal: Principal; readonly query: URLSearchParams }): Promise<AutomationListing>;
}

export function createAutomationCatalogue({ database }: { readonly database: Database }): AutomationCatalogue {
  const store = createAutomationStore(database);
  return {
    async list({ principal, query }) {
      const options = readListOptions(query);
      const viewer = { seesAll: principal.roles.includes('admin'), groups: principal.groups };
      const { list, total } = await store.list({ options, viewer });
      return { list, total, skip: options.skip, limit: options.limit };
    },
  };
}
