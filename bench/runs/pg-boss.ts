/**
 * pg-boss as an engine of runs. It is a queue: each step is a job, and hands its result to the next step as a new job. Batches of 32 and
 * LISTEN/NOTIFY, which is its quickest way. Started by `peer-side.ts`: the URL of its PostgreSQL as argument.
 */
import { input, jobNames, stepsOf } from './jobs.ts';
import { peerModule, takeOrders } from './peer-program.ts';
import { type Order, tasks } from './side.ts';

interface Passed extends Readonly<Record<string, unknown>> {
  readonly far: string;
}

interface Job {
  readonly id: string;
  readonly data: Passed;
}

interface Boss {
  on(event: 'error', listener: (error: unknown) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: readonly Job[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: readonly Job[]) => Promise<unknown>): Promise<unknown>;
}

const [url = ''] = process.argv.slice(2);
const { PgBoss } = await peerModule<{ PgBoss: new (options: object) => Boss }>('pg-boss/dist/index.js');
// The intervals are the shortest that it takes, so that it learns of a dead worker soon.
const boss = new PgBoss({ connectionString: url, useListenNotify: true, superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 });
boss.on('error', (error) => console.error(error));
await boss.start();
for (const job of jobNames)
  for (const place of [1, 2, 3]) await boss.createQueue(`${job}-${place}`, { notify: true, heartbeatSeconds: 10 });
for (const job of jobNames)
  for (const place of [1, 2, 3]) {
    await boss.work(`${job}-${place}`, { batchSize: tasks, burstWhenBatchFull: true }, async (batch) => {
      const done = await Promise.all(
        batch.map(async ({ id, data }) => {
          const value = await stepsOf(job, data.far)[place - 1]?.(data);
          return { id, data: { ...value, far: data.far } };
        }),
      );
      // A step that is repeated after a crash creates no second job, because the id is there already.
      if (place < 3) await boss.insert(`${job}-${place + 1}`, done);
      return done[0]?.data;
    });
  }
takeOrders(({ job, far }: Order) => boss.send(`${job}-1`, { ...input, far }));
