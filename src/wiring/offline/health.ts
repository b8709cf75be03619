import { systemClock } from '#base/clock.ts';
import { createSender, fetchDocument } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';

/** Milliseconds. */
const timeouts = { dns: 2_000, connect: 3_000, firstByte: 5_000, idle: 5_000, total: 8_000 };

/**
 * Asks the gateway at this address, and resolves with the status of its reply. On its own machine its certificate has another name; nothing
 * secret is sent. Rejects with a GatewayError.
 */
export async function checkHealth(url: string): Promise<number> {
  const resolve = createResolver({ concurrency: 1 });
  const sender = createSender({ connect: createConnector({ resolve, timeouts, tls: { verify: false } }) });
  try {
    const options = { sender, clock: systemClock, timeouts, userAgent: 'orchestration-gateway' };
    const { status } = await fetchDocument(url, { method: 'GET', headers: {} }, options);
    return status;
  } finally {
    await sender.close();
  }
}
