import { join } from 'node:path';
import { modules } from '../speed/node-rivals.ts';
import { creators, type Order } from './side.ts';

/** A module of a package in bench/node_modules, which the types of this project do not know. */
export async function peerModule<T>(path: string): Promise<T> {
  return (await import(join(modules, path))) as T;
}

/** Takes orders over IPC: `create` begins one run. Says that it is ready, and after each order that its runs are created. */
export function takeOrders(create: (order: Order) => Promise<unknown>): void {
  process.on('message', (order: Order) => {
    let left = order.count;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await create(order);
      }
    };
    Promise.all(Array.from({ length: creators }, lane)).then(
      () => process.send?.('created'),
      (error: unknown) => process.send?.(String(error)),
    );
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}
