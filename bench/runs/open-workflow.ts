/** OpenWorkflow as an engine of runs: a worker, and a client that creates runs. Started by `peer-side.ts`: the store as its argument. */
import { input, jobNames, stepsOf } from './jobs.ts';
import { peerModule, takeOrders } from './peer-program.ts';
import { type Order, tasks } from './side.ts';

type Value = Readonly<Record<string, unknown>>;

interface StepContext {
  readonly input: { readonly far: string } & Value;
  readonly step: { run(options: { readonly name: string }, work: () => Value | Promise<Value>): Promise<Value> };
}

interface Client {
  defineWorkflow(
    spec: { readonly name: string },
    work: (context: StepContext) => Promise<Value>,
  ): { run(input: Value): Promise<unknown> };
  newWorker(options: { readonly concurrency: number }): { start(): Promise<void> };
}

interface Backend {
  connect(place: string): unknown;
}

const [store = ''] = process.argv.slice(2);
const { OpenWorkflow } = await peerModule<{ OpenWorkflow: new (options: { readonly backend: unknown }) => Client }>(
  'openworkflow/dist/index.js',
);
const client = new OpenWorkflow({ backend: await backendOf(store) });
const runnable = Object.fromEntries(
  jobNames.map((job) => [
    job,
    client.defineWorkflow({ name: job }, async ({ input: given, step }) => {
      let value: Value = given;
      for (const [index, work] of stepsOf(job, given.far).entries()) {
        const before = value;
        value = await step.run({ name: `step ${index + 1}` }, () => work(before));
      }
      return value;
    }),
  ]),
);
await client.newWorker({ concurrency: tasks }).start();
takeOrders(async ({ job, far }: Order) => runnable[job]?.run({ ...input, far }));

async function backendOf(url: string): Promise<unknown> {
  if (url.startsWith('sqlite:')) {
    const { BackendSqlite } = await peerModule<{ BackendSqlite: Backend }>('openworkflow/dist/sqlite.js');
    return BackendSqlite.connect(url.slice('sqlite:'.length));
  }
  const { BackendPostgres } = await peerModule<{ BackendPostgres: Backend }>('openworkflow/dist/postgres.js');
  return BackendPostgres.connect(url);
}
