import { type AdapterInstance, createAdapterInstance } from '#adapters/adapter-instance.ts';
import { adapterKinds } from '#adapters/adapter-kinds.ts';
import type { AdapterAuthentication } from '#adapters/authentication.ts';
import type { Clock } from '#base/clock.ts';
import type { AdapterConfig } from '#config/config.ts';
import { createConnector } from '#outbound/connector.ts';
import type { Resolve } from '#outbound/resolver.ts';
import { createSender } from '#outbound/sender.ts';

/** What all adapter instances of a gateway share. */
export interface AdapterNeeds {
  readonly resolve: Resolve;
  readonly clock: Clock;
}

/** One adapter instance with connections of its own. Throws where a PEM text or the proxy's URL cannot be used. */
export function createAdapter(adapter: AdapterConfig, { resolve, clock }: AdapterNeeds): AdapterInstance {
  return createAdapterInstance({
    kind: adapterKinds[adapter.kind],
    instance: { ...adapter, auth: authentication(adapter.auth) },
    sender: createSender({ connect: createConnector({ ...adapter, resolve }) }),
    clock,
  });
}

/** The configuration's loader has refused the types that are not built yet. */
function authentication(auth: AdapterConfig['auth']): AdapterAuthentication {
  if (auth.type === 'token' || auth.type === 'oauth2')
    throw new Error(`authentication of type ${auth.type} is not supported yet`);
  return auth;
}
