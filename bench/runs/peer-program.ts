import { join } from 'node:path';
import { modules } from '../speed/node-rivals.ts';
import { creators, type Order } from './side.ts';

/** A module of a package in bench/node_modules, which the types of this project do not know. */
export async function peerModule<T>(path: string): Promise<T> {
  return (await import(join(modules, path))) as T;
}

/**
 * Takes orders over IPC: `create` begins one run. Says that it is ready, and after each order that its runs are created. With `ended`, a
 * creator waits for the end of its run before it creates the next one.
 */
export function takeOrders<Begun>(
  create: (order: Order) => Promise<Begun>,
  ended: (begun: Begun) => Promise<unknown> = () => Promise.resolve(),
): void {
  process.on('message', (order: Order) => {
    let [left, created] = [order.count, 0];
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const begun = await create(order);
        created += 1;
        if (created === order.count) process.send?.('created');
        await ended(begun);
      }
    };
    Promise.all(Array.from({ length: creators }, lane)).catch((error: unknown) => process.send?.(String(error)));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}
