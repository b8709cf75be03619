import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { AttemptWatcher } from '#outbound/call/outbound-call.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { CallScope } from '../../../src/outbound/call/call-scope.ts';
import type { OutboundCall, UpstreamReply } from '../../../src/outbound/call/outbound-call.ts';
import { createSender, type PooledSender, type Sender } from '../../../src/outbound/call/sender.ts';
import { dialDirectly } from '../../../src/outbound/dialling/dial.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';

/** A reply: its status and its whole body. */
interface Sent {
  readonly status: number;
  readonly body: Buffer;
}

/** Begins a call whose intent counts as recorded, by default a GET; `scope` ends the call. */
export function beginThrough(
  sender: Sender,
  url: string,
  { attempts, ...given }: Partial<OutboundCall> & { readonly attempts?: AttemptWatcher } = {},
): { readonly reply: Promise<UpstreamReply>; readonly scope: CallScope } {
  const { origin, pathname } = new URL(url);
  const method = given.method ?? 'GET';
  const scope = new CallScope({ total: 20_000, clock: systemClock, attempts });
  scope.permitChange();
  const limits = { timeouts: { firstByte: 5_000, idle: 5_000 }, responseLimit: 100_000_000 };
  const call = { origin, path: pathname, method, headers: [], stateChanging: method !== 'GET', ...limits, ...given };
  return { reply: sender.send(call, scope), scope };
}

/** Sends a call and reads its reply to the end, beginning `pause` milliseconds after the head. */
export async function sendThrough(
  sender: Sender,
  url: string,
  { pause = 0, ...given }: Partial<OutboundCall> & { readonly pause?: number } = {},
): Promise<Sent> {
  const { reply: coming, scope } = beginThrough(sender, url, given);
  try {
    const reply = await coming;
    if (pause > 0) await lapse(pause, 'the reader is slow');
    const pieces = [reply.head];
    for await (const piece of reply.rest ?? []) pieces.push(piece);
    return { status: reply.status, body: Buffer.concat(pieces) };
  } finally {
    scope.end();
  }
}

/** A sender to a port of 127.0.0.1, and all sockets that it has dialled. */
export function senderTo(owner: Owner, port: number): { readonly sender: PooledSender; readonly sockets: readonly Socket[] } {
  const sockets: Socket[] = [];
  const sender = createSender({
    connect: async () => {
      const socket = await connectedTo(port);
      sockets.push(socket);
      return socket;
    },
  });
  owner.after(() => sender.close());
  return { sender, sockets };
}

/** A connection to a port of 127.0.0.1, dialled as by a sender. */
export async function connectedTo(port: number): Promise<Socket> {
  const socket = dialDirectly({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}
