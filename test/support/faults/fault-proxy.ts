import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Owner } from '../owner.ts';
import { carry } from './fault-line.ts';
import type { FaultKind, FaultPlan } from './fault-plan.ts';

/** A TCP proxy in front of an upstream, similar to Toxiproxy: each connection has the fault of its plan. */
export interface FaultProxy {
  /** `ADDRESS:PORT`, an entry for `outbound.allow`. */
  readonly authority: string;
  /** `http://ADDRESS:PORT` */
  readonly url: string;
  /** Open sockets on both sides of the proxy. */
  readonly open: number;
  /** The number of connections with each fault. */
  readonly met: Readonly<Partial<Record<FaultKind, number>>>;
  close(): Promise<void>;
}

interface FaultProxyOptions {
  /** The port of the upstream, on 127.0.0.1. */
  readonly port: number;
  /** The fault of connection `number`, counted from 0. */
  readonly plan: (number: number) => FaultPlan;
  /** Milliseconds after which the proxy ends a connection; default 10,000. */
  readonly lifetime?: number;
}

/**
 * The port of a proxy is free while the proxy is down. On Linux all of 127.0.0.0/8 is loopback, so the proxy has an address of its
 * own, on which no other process takes the port. Other systems have 127.0.0.1 alone, and the chance is small.
 */
function ownAddress(): string {
  const part = (): number => 1 + Math.floor(Math.random() * 254);
  return process.platform === 'linux' ? `127.${part()}.${part()}.${part()}` : '127.0.0.1';
}

/** Starts a fault proxy, which is closed with all its connections when its owner ends. */
export async function faultProxy(owner: Owner, { port, plan, lifetime = 10_000 }: FaultProxyOptions): Promise<FaultProxy> {
  const host = ownAddress();
  const met: Partial<Record<FaultKind, number>> = {};
  const lines = new Set<{ readonly cut: (reset: boolean) => void }>();
  const open = new Set<Socket>();
  let count = 0;
  let closed = false;
  let server: Server | undefined;
  let downTimer: NodeJS.Timeout | undefined;

  const keep = (socket: Socket): Socket => {
    open.add(socket);
    return socket.setNoDelay(true).on('close', () => open.delete(socket));
  };
  const accept = (near: Socket): void => {
    const current = plan(count);
    count += 1;
    met[current.fault] = (met[current.fault] ?? 0) + 1;
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const line = carry({ near: keep(near), far: keep(far), plan: current, lifetime });
    lines.add(line);
    near.on('close', () => lines.delete(line));
    if (current.fault === 'down') goDown(current.milliseconds);
  };
  const listen = async (at: number): Promise<number> => {
    const next = createServer({ allowHalfOpen: true }, accept);
    next.listen(at, host);
    await once(next, 'listening');
    if (closed) next.close();
    server = next;
    const address = next.address();
    return address === null || typeof address === 'string' ? at : address.port;
  };
  const comeBack = (): void => {
    // Another process may have the port for a moment.
    listen(bound).catch(() => {
      if (!closed) downTimer = setTimeout(comeBack, 20);
    });
  };
  const goDown = (milliseconds: number): void => {
    if (server === undefined) return;
    server.close();
    server = undefined;
    for (const line of lines) line.cut(true);
    downTimer = setTimeout(comeBack, milliseconds);
  };

  const bound = await listen(0);
  const close = async (): Promise<void> => {
    closed = true;
    clearTimeout(downTimer);
    for (const socket of open) socket.destroy();
    await Promise.all([...open].map((socket) => once(socket, 'close')));
    if (server?.listening === true) server.close();
  };
  owner.after(close);
  return {
    authority: `${host}:${bound}`,
    url: `http://${host}:${bound}`,
    get open() {
      return open.size;
    },
    met,
    close,
  };
}
