import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import { createSender, type Sender } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import { tlsBesideOwn } from '#outbound/dialling/tls-handshake.ts';

/** Milliseconds for one read of a source over the network. */
const readLimit = 10_000;
const timeouts = { dns: 3_000, connect: 5_000 };
const resolve = createResolver({ concurrency: 2 });

/** Reads of a source are rare: each has a connection of its own. `ca`: in addition to those of Node. */
export async function overOwnConnection<T>(
  ca: string | undefined,
  work: (sender: Sender, scope: CallScope) => Promise<T>,
): Promise<T> {
  const sender = createSender({ connect: createConnector({ resolve, timeouts, tls: tlsBesideOwn(ca) }) });
  const scope = new CallScope({ total: readLimit, clock: systemClock });
  try {
    return await work(sender, scope);
  } finally {
    scope.end();
    await sender.close();
  }
}

/** Continues a sentence on the server. */
export function failureOf(failure: unknown): string {
  const reason = failure instanceof GatewayError ? failure.message.replace(/\.$/u, '') : 'it did not answer in time';
  return `could not be asked: ${reason}`;
}
