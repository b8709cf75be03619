import { createUsage } from '#base/usage.ts';
import type { OutboundConfig } from '#config/config.ts';
import { createConnector, refuseBeforeLookup } from '#outbound/connector.ts';
import { createDestinationPolicy } from '#outbound/destination-policy.ts';
import type { Listener } from '#outbound/own-listeners.ts';
import type { Resolve } from '#outbound/resolver.ts';
import { createSender } from '#outbound/sender.ts';
import type { CallContext } from '#relay/call-context.ts';
import type { RelayReply } from '#relay/relay-reply.ts';
import { type RestCallRequest, restCall } from '#relay/rest-call.ts';
import type { WatchPool } from '#telemetry/gauges.ts';

/** What restCall does under one `outbound` section: policy, limits, and connections that no other section's calls use. */
export interface OutboundCalls {
  restCall(request: RestCallRequest, context: CallContext): Promise<RelayReply>;
  /** Resolves once every call that was begun is done, replies that stream included, and every connection is closed. */
  close(): Promise<void>;
}

/** What the calls of all sections share. */
export interface OutboundNeeds {
  readonly resolve: Resolve;
  readonly ownListeners: () => readonly Listener[];
  readonly userAgent: string;
  /** Counts connections. */
  readonly pooled: WatchPool;
}

/** Throws where a PEM text or the proxy's URL cannot be used. */
export function createOutboundCalls(limits: OutboundConfig, needs: OutboundNeeds): OutboundCalls {
  const { resolve, ownListeners, userAgent, pooled } = needs;
  const policy = createDestinationPolicy({ ...limits, ownListeners });
  const refuseDenied = (url: URL): void => refuseBeforeLookup(policy, url);
  const sender = pooled({ pool: 'restCall' }, createSender({ connect: createConnector({ ...limits, resolve, policy }) }));
  const usage = createUsage();
  return {
    async restCall(request, context) {
      const over = usage.begin();
      try {
        return await restCall({ request, context, limits, refuseDenied, sender, userAgent });
      } finally {
        over();
      }
    },
    async close() {
      // Between a redirect and the call it leads to nothing is at the sender.
      await usage.ended();
      await sender.close();
    },
  };
}
