import { type AdapterInstance, createAdapterInstance } from '#adapters/adapter-instance.ts';
import { adapterKinds } from '#adapters/adapter-kinds.ts';
import { createAdapterNode } from '#adapters/adapter-node.ts';
import { type AdapterAuthentication, credentialHeaders } from '#adapters/authentication.ts';
import type { Clock } from '#base/clock.ts';
import type { AdapterConfig } from '#config/config.ts';
import { type ConnectStep, createConnector } from '#outbound/connector.ts';
import type { Resolve } from '#outbound/resolver.ts';
import { createSender, type Sender } from '#outbound/sender.ts';

/** What all adapter instances of a gateway share. */
export interface AdapterNeeds {
  readonly resolve: Resolve;
  readonly clock: Clock;
  /** Of probes. */
  readonly userAgent: string;
}

/** One adapter instance, each node with connections of its own. Throws where a PEM text or the proxy's URL cannot be used. */
export function createAdapter(adapter: AdapterConfig, { resolve, clock, userAgent }: AdapterNeeds): AdapterInstance {
  const kind = adapterKinds[adapter.kind];
  const credentials = credentialHeaders(authentication(adapter.auth));
  const open = (onStep: (step: ConnectStep) => void = () => {}): Sender =>
    createSender({ connect: createConnector({ ...adapter, resolve, onStep }) });
  const nodes = adapter.urls.map((url) =>
    createAdapterNode({ url, kind, instance: adapter, credentials, userAgent, open, clock }),
  );
  return createAdapterInstance({ kind, instance: adapter, nodes, clock });
}

/** The configuration's loader has refused the types that are not built yet. */
function authentication(auth: AdapterConfig['auth']): AdapterAuthentication {
  if (auth.type === 'token' || auth.type === 'oauth2')
    throw new Error(`authentication of type ${auth.type} is not supported yet`);
  return auth;
}
