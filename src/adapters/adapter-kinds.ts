import type { AdapterKind, AdapterKindName } from './adapter-kind.ts';
import { nsoAdapter } from './kinds/nso/nso-adapter.ts';
import { restAdapter } from './kinds/rest/rest-adapter.ts';
import { restconfAdapter } from './kinds/restconf/restconf-adapter.ts';

/** A test compares the list with the folders in kinds/. */
export const adapterKinds: Readonly<Record<AdapterKindName, AdapterKind>> = {
  nso: nsoAdapter,
  rest: restAdapter,
  restconf: restconfAdapter,
};
