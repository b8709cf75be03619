/**
 * DBOS as an engine of runs: each is a workflow in this process, with a checkpoint after each step. Started by `peer-side.ts`: the URL of
 * its PostgreSQL as argument.
 */
import { input, jobNames, stepsOf } from './jobs.ts';
import { peerModule, takeOrders } from './peer-program.ts';

type Value = Readonly<Record<string, unknown>>;
type Work = (given: Value & { readonly far: string }) => Promise<Value>;

interface Dbos {
  setConfig(config: object): void;
  registerWorkflow(work: Work, options: { readonly name: string }): Work;
  runStep(work: () => Promise<Value>, options: { readonly name: string }): Promise<Value>;
  startWorkflow(work: Work): (...given: Parameters<Work>) => Promise<{ getResult(): Promise<Value> }>;
  launch(): Promise<void>;
}

const [url = ''] = process.argv.slice(2);
const { DBOS } = await peerModule<{ readonly DBOS: Dbos }>('@dbos-inc/dbos-sdk/dist/src/index.js');
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, applicationVersion: '1', logLevel: 'error' });
const runnable = Object.fromEntries(
  jobNames.map((job) => [
    job,
    DBOS.registerWorkflow(
      async (given) => {
        let value: Value = given;
        for (const [index, work] of stepsOf(job, given.far).entries()) {
          const before = value;
          value = await DBOS.runStep(async () => await work(before), { name: `step ${index + 1}` });
        }
        return value;
      },
      { name: job },
    ),
  ]),
);
await DBOS.launch();
takeOrders(
  async ({ job, far }) => {
    const work = runnable[job];
    if (work === undefined) throw new Error(`there is no ${job}`);
    return await DBOS.startWorkflow(work)({ ...input, far });
  },
  // It begins a workflow at once: 32 are under way where each caller waits for its end.
  (begun) => begun.getResult(),
);
