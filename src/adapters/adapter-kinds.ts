import type { AdapterKind } from './adapter-kind.ts';
import { nsoAdapter } from './kinds/nso/nso-adapter.ts';
import { restAdapter } from './kinds/rest/rest-adapter.ts';
import { restconfAdapter } from './kinds/restconf/restconf-adapter.ts';

/** The kinds there are, one line each; a test holds the list against the folders under kinds/. */
export const adapterKinds: Readonly<Record<AdapterKind['name'], AdapterKind>> = {
  nso: nsoAdapter,
  rest: restAdapter,
  restconf: restconfAdapter,
};
