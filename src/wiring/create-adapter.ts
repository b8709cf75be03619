import { type AdapterInstance, createAdapterInstance } from '#adapters/adapter-instance.ts';
import { adapterKinds } from '#adapters/adapter-kinds.ts';
import { createCredentials } from '#adapters/credentials/credential-kinds.ts';
import { createRefusalGuard } from '#adapters/credentials/refusal-guard.ts';
import { type AdapterNode, createAdapterNode } from '#adapters/nodes/adapter-node.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { AdapterConfig } from '#config/config.ts';
import { createSender, type Sender } from '#outbound/call/sender.ts';
import { type ConnectStep, createConnector } from '#outbound/dialling/connector.ts';
import type { Resolve } from '#outbound/dialling/resolver.ts';
import { tlsBesideOwn } from '#outbound/dialling/tls-handshake.ts';
import type { WatchPool } from '#telemetry/gauges.ts';

/** Parts that all adapter instances of a gateway share. */
export interface AdapterNeeds {
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly log: Log;
  /** The User-Agent header of probes. */
  readonly userAgent: string;
  /** Of assertions about callers. Default: `orchestration-gateway`. */
  readonly issuer?: string | undefined;
  /** Counts connections. */
  readonly pooled: WatchPool;
}

/** One adapter instance; each node has its own connections. Throws where a PEM text or the proxy's URL cannot be used. */
export function createAdapter(adapter: AdapterConfig, needs: AdapterNeeds): AdapterInstance {
  const { resolve, clock, userAgent, issuer = 'orchestration-gateway', pooled, log } = needs;
  const kind = adapterKinds[adapter.kind];
  const credentials = createCredentials({
    name: adapter.name,
    authentication: adapter.auth,
    openTokenSender: () => openTokenSender(adapter, { resolve, pooled }),
    clock,
    userAgent,
    issuer,
  });
  const guard = createRefusalGuard({ ...adapter, credentials, clock });
  const { auth } = adapter;
  const callers = auth.type === 'caller' ? { ...auth, hasService: auth.service !== undefined } : undefined;
  const open = (onStep: (step: ConnectStep) => void = () => {}): Sender =>
    pooled(
      { pool: 'adapter', adapter: adapter.name },
      createSender({ connect: createConnector({ ...adapter, resolve, onStep }) }),
    );
  let nodes: readonly AdapterNode[];
  try {
    nodes = adapter.urls.map((url) =>
      createAdapterNode({ url, kind, instance: adapter, credentials, guard, userAgent, open, clock, log }),
    );
  } catch (error) {
    void credentials.close();
    throw error;
  }
  const instance = createAdapterInstance({ kind, instance: adapter, nodes, callers, clock });
  return {
    ...instance,
    async close() {
      // Calls in flight may still need a token.
      await instance.close();
      await credentials.close();
    },
  };
}

function openTokenSender(adapter: AdapterConfig, { resolve, pooled }: Pick<AdapterNeeds, 'resolve' | 'pooled'>): Sender {
  const connect = createConnector({ resolve, ...tokenConnection(adapter) });
  return pooled({ pool: 'tokens', adapter: adapter.name }, createSender({ connect }));
}

/** How the token endpoint is reached. Of `tls` it uses only the CA: the server name and the client certificate are for the orchestrator. */
export function tokenConnection({ tls, proxy }: Pick<AdapterConfig, 'tls' | 'proxy'>) {
  return { timeouts: tokenTimeouts, tls: tlsBesideOwn(tls?.ca), ...(proxy === undefined ? {} : { proxy }) };
}

/** Milliseconds; the total limit of a token request is 10 s. */
const tokenTimeouts = { dns: 3_000, connect: 5_000 };
