import { connect, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Makes a server listen on a free port of 127.0.0.1; resolves to the port. */
export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/** Makes a server listen on a free port of 127.0.0.1, and closes it with all connections after the test; `open` are the open ones. */
export async function listen(
  t: TestContext,
  server: Server,
): Promise<{ readonly port: number; readonly open: ReadonlySet<Socket>; readonly accepted: () => number }> {
  const open = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  const port = await listening(server);
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { port, open, accepted: () => accepted };
}

/** Resolves once every connection is closed; the time limit of the test ends a longer wait. */
export async function allClosed(open: ReadonlySet<Socket>): Promise<void> {
  await Promise.all([...open].map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))));
}

/** Whether a port of 127.0.0.1 accepts a connection, which is closed at once. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
