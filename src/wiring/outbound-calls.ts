import { createUsage } from '#base/usage.ts';
import type { OutboundConfig } from '#config/config.ts';
import { createConnector, refusalBeforeLookup } from '#outbound/connector.ts';
import { createDestinationPolicy } from '#outbound/destination-policy.ts';
import type { Listener } from '#outbound/own-listeners.ts';
import type { Resolve } from '#outbound/resolver.ts';
import { createSender } from '#outbound/sender.ts';
import type { OutboundSection } from '#relay/rest-call.ts';
import type { WatchPool } from '#telemetry/gauges.ts';

/** An `OutboundSection` that a reload may replace. */
export interface OutboundCalls extends OutboundSection {
  /** Resolves once every call that holds it has ended, including streamed replies, and every connection is closed. */
  close(): Promise<void>;
}

/** Parts that the calls of all sections share. */
export interface OutboundNeeds {
  readonly resolve: Resolve;
  readonly ownListeners: () => readonly Listener[];
  /** Counts connections. */
  readonly pooled: WatchPool;
}

/** Throws where a PEM text or the proxy's URL cannot be used. */
export function createOutboundCalls(limits: OutboundConfig, needs: OutboundNeeds): OutboundCalls {
  const { resolve, ownListeners, pooled } = needs;
  const policy = createDestinationPolicy({ ...limits, ownListeners });
  const sender = pooled({ pool: 'restCall' }, createSender({ connect: createConnector({ ...limits, resolve, policy }) }));
  const usage = createUsage();
  return {
    limits,
    sender,
    refusal: (url) => refusalBeforeLookup(policy, url),
    hold: () => usage.begin(),
    async close() {
      // A call between two hops of a redirect is in flight, but not in the sender.
      await usage.ended();
      await sender.close();
    },
  };
}
