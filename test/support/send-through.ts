import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { systemClock } from '../../src/base/clock.ts';
import { CallScope } from '../../src/outbound/call-scope.ts';
import type { OutboundCall } from '../../src/outbound/outbound-call.ts';
import type { Sender } from '../../src/outbound/sender.ts';

/** What came of a call: its status and its whole body. */
export interface Sent {
  readonly status: number;
  readonly body: Buffer;
}

/** Sends one call, a GET unless it says otherwise, which is on record, and reads its reply to the end, `pause` milliseconds after its head. */
export async function sendThrough(
  sender: Sender,
  url: string,
  { pause = 0, ...given }: Partial<OutboundCall> & { readonly pause?: number } = {},
): Promise<Sent> {
  const { origin, pathname } = new URL(url);
  const method = given.method ?? 'GET';
  const scope = new CallScope({ total: 20_000, clock: systemClock });
  scope.permitChange();
  const limits = { timeouts: { firstByte: 5_000, idle: 5_000 }, responseLimit: 100_000_000 };
  try {
    const call = { origin, path: pathname, method, headers: [], stateChanging: method !== 'GET', ...limits, ...given };
    const reply = await sender.send(call, scope);
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    const pieces = [reply.head];
    for await (const piece of reply.rest ?? []) pieces.push(piece);
    return { status: reply.status, body: Buffer.concat(pieces) };
  } finally {
    scope.finish();
  }
}

/** A connection to a port of 127.0.0.1, as a sender is given them. */
export async function connectedTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}
