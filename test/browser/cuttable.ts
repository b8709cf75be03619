import { connect, createServer, type Socket } from 'node:net';
import { listening } from '../support/listen.ts';
import type { Owner } from '../support/owner.ts';

/** A way to a server whose connections a test can break. */
export interface Cuttable {
  readonly url: string;
  /** Breaks every connection, and refuses new ones until `mend`. */
  cut(): void;
  /** Lets connections pass, to another port where one is given. */
  mend(port?: number): void;
}

export async function cuttable(owner: Owner, port: number): Promise<Cuttable> {
  const open = new Set<Socket>();
  const target = { port, isCut: false };
  const proxy = createServer((caller) => {
    if (target.isCut) {
      caller.on('error', () => {}).resetAndDestroy();
      return;
    }
    const beyond = connect(target.port, '127.0.0.1').on('error', () => {});
    open.add(caller);
    caller.on('error', () => {}).on('close', () => open.delete(caller) && beyond.destroy());
    caller.pipe(beyond).pipe(caller);
  });
  const cut = (): void => {
    target.isCut = true;
    for (const socket of open) socket.resetAndDestroy();
  };
  const url = `http://127.0.0.1:${await listening(proxy)}`;
  owner.after(() => {
    cut();
    proxy.close();
  });
  const mend = (to = target.port): void => {
    target.isCut = false;
    target.port = to;
  };
  return { url, cut, mend };
}
