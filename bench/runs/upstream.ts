import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../../test/support/owner.ts';

/** An upstream in this process, which says when requests come, and can let them wait. */
export interface TimedUpstream {
  readonly url: string;
  /** Complete requests so far. */
  readonly arrived: number;
  /** The time of `performance.now()` at the next request. */
  next(): Promise<number>;
  /** Answers no request until `release`. */
  hold(): void;
  release(): void;
}

export async function timedUpstream(owner: Owner): Promise<TimedUpstream> {
  let arrived = 0;
  let holds = false;
  const held: ServerResponse[] = [];
  const listeners: ((at: number) => void)[] = [];
  const answer = (response: ServerResponse): void => {
    response.setHeader('Content-Type', 'application/json').end('{"status":"ok"}');
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      arrived += 1;
      const at = performance.now();
      for (const listener of listeners.splice(0)) listener(at);
      if (holds) held.push(response);
      else answer(response);
    });
  }).listen(0, '127.0.0.1');
  server.keepAliveTimeout = 3_600_000;
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get arrived() {
      return arrived;
    },
    next: () => new Promise((resolve) => void listeners.push(resolve)),
    hold: () => void (holds = true),
    release() {
      holds = false;
      for (const response of held.splice(0)) answer(response);
    },
  };
}
