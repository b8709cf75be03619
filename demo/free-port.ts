import { createServer } from 'node:net';

/** The wanted port if it is free on the loopback address, else 0, which means any free port. */
export function freePort(wanted: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(0));
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(wanted)));
  });
}
