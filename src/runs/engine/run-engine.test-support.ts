import type { TestContext } from 'node:test';
import type { Join } from '#audit/companion.ts';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import type { StoreOptions } from '#database/database.ts';
import { createExpressionPool, type ExpressionPool } from '#workflows/jq/expression-pool.ts';
import { readWorkflow } from '#workflows/read-workflow.ts';
import type { Workflow } from '#workflows/workflow.ts';
import { noApprovalTasks } from '../../../test/support/runs/no-approvals.ts';
import { sealedSecret } from '../../../test/support/runs/sealed-secret.ts';
import type { TestStore } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import type { OutsideResult } from '../interpreter/state/run-events.ts';
import { newRun, seesNothing } from '../journal/run-records.test-support.ts';
import type { NewRun, StoredRun, TaskRecord } from '../journal/run-records.ts';
import { createRunStore, type RunStore } from '../journal/run-store.ts';
import { createSecretValues } from '../secrets/secret-values.ts';
import type { RunCall } from '../tasks/call-tasks.ts';
import { createRunEngine, type RunEngine } from './run-engine.ts';
import type { RunTools } from './run-tools.ts';
import type { RunWatchers } from './run-watcher.ts';

const head = (name: string, version = '1.0.0'): string =>
  `document: { dsl: 1.0.3, namespace: test, name: ${name}, version: ${version} }\n`;

/** Answers a call of a task; `arguments` is parsed. `waiting`: people have to approve it. */
type FarEnd = (call: RunCall, signal: AbortSignal) => Promise<OutsideResult | 'waiting'> | OutsideResult | 'waiting';

interface GatewayOptions {
  readonly tasks?: number;
  readonly lease?: number;
  readonly watchers?: RunWatchers;
  /** What this gateway has instead of methods of its store. */
  readonly changed?: (store: RunStore) => Partial<RunStore>;
}

/** Runs on a store, and as many gateways as a test starts on it. */
interface RunWorld {
  readonly store: RunStore;
  /** Every call that was made, in order. */
  readonly calls: RunCall[];
  /** How calls end from now on. */
  answer(far: FarEnd): void;
  /** Adds a workflow `test.NAME`. `tasks` is the YAML below its head. */
  workflow(name: string, tasks: string): Promise<void>;
  /** Starts a gateway's engine. */
  gateway(options?: GatewayOptions): Promise<RunEngine>;
  /** Creates a run of `test.NAME`, and answers its id. */
  begin(name: string, given?: Partial<NewRun>): Promise<string>;
  read(id: string): Promise<StoredRun>;
  /** Waits until the run has a status, and answers it. */
  reaches(id: string, ...statuses: readonly StoredRun['status'][]): Promise<StoredRun>;
  tasks(id: string): Promise<readonly TaskRecord[]>;
}

interface WorldOptions {
  /** Absent: an empty store. */
  readonly options?: StoreOptions;
  /** Of every gateway. Default: calls end as the test says. */
  readonly calls?: RunTools['calls'];
  readonly join?: Join;
}

export async function runWorld(t: TestContext, on: TestStore, given: WorldOptions = {}): Promise<RunWorld> {
  const options = given.options ?? (await on.empty(t));
  const workflows = new Map<string, Workflow>();
  const calls: RunCall[] = [];
  const expressions = createExpressionPool({ threads: 2 });
  t.after(() => expressions.close());
  let far: FarEnd = () => ({ kind: 'ok', output: '{"ok":true}' });
  const open = async (): Promise<RunStore> => {
    const store = createRunStore({
      database: await on.open(t, options),
      clock: systemClock,
      visible: seesNothing,
      ...(given.join && { join: given.join }),
    });
    t.after(() => store.close());
    return store;
  };
  const perform: RunTools['calls']['perform'] = async (call, signal) => {
    // As the call path does before a call leaves.
    await call.stored?.();
    calls.push(call);
    const result = await far(call, signal);
    return result === 'waiting' ? result : { result, requestId: `request-${calls.length}` };
  };
  const madeUpCalls: RunTools['calls'] = { perform, fetch: async () => ({ document: '{"type":"object"}' }) };
  const store = await open();
  const read = async (id: string): Promise<StoredRun> => {
    const run = await store.read(id);
    if (run === undefined) throw new Error(`There is no run ${id}.`);
    return run;
  };
  return {
    store,
    calls,
    answer: (next) => void (far = next),
    async workflow(name, tasks) {
      const reading = await readWorkflow({ text: head(name) + tasks, known: {}, expressions });
      if ('problems' in reading) throw new Error(reading.problems.map(({ detail }) => detail).join('\n'));
      workflows.set(`test.${name}`, reading.workflow);
    },
    gateway: async (more) => startEngine(t, await open(), { workflows, expressions, calls: given.calls ?? madeUpCalls }, more),
    async begin(name, more = {}) {
      const run = newRun({ workflow: `test.${name}`, input: '{}', ...more });
      await store.create([run]);
      return run.id;
    },
    read,
    async reaches(id, ...statuses) {
      await until(`run ${id} is ${statuses.join(' or ')}`, async () => statuses.includes((await read(id)).status));
      return await read(id);
    },
    tasks: (id) => store.tasks(id, { limit: 1_000 }),
  };
}

function startEngine(
  t: TestContext,
  store: RunStore,
  parts: Parameters<typeof toolsOver>[1],
  { tasks = 8, lease, changed, watchers }: GatewayOptions = {},
): RunEngine {
  const own: RunStore = { ...store, ...changed?.(store) };
  const engine = createRunEngine({
    store: own,
    tools: toolsOver(own, parts),
    tasks,
    log: noLog,
    ...(lease !== undefined && { lease }),
    ...(watchers && { watchers }),
  });
  t.after(async () => {
    engine.abort();
    await engine.stop();
  });
  return engine;
}

function toolsOver(
  store: RunStore,
  {
    workflows,
    expressions,
    calls,
  }: {
    readonly workflows: ReadonlyMap<string, Workflow>;
    readonly expressions: ExpressionPool;
    readonly calls: RunTools['calls'];
  },
): Omit<RunTools, 'placesOfPerson'> {
  return {
    clock: systemClock,
    limitReached: () => {},
    runtime: { name: 'gateway', version: '1' },
    expressions,
    secrets: createSecretValues(() => ({ key: sealedSecret('secret-key') })),
    approvals: noApprovalTasks,
    calls,
    checkSchema: async ({ schema, value }) => (schema.includes('never') ? [`${value} is refused`] : []),
    async loadWorkflow({ id }) {
      const workflow = workflows.get(id);
      return workflow && { workflow, digest: `of ${id}` };
    },
    people: { involved: async ({ involved }) => involved, whyGone: () => undefined },
    mayHaveCalled: async () => false,
    openChildren: (run) => store.children(run),
    batch: (call) => store.batch(call),
    items: (call, page) => store.items(call, page),
    asksOnce: async () => false,
    repeatedItems: (batch) => store.repeatedItems(batch),
    openItems: (call) => store.openItems(call),
    openBatches: (run) => store.openBatches(run),
    taskData: { keeps: () => true, passwordsOf: () => Promise.resolve([]) },
    lastEvent: () => store.lastEvent(),
    messages: (range) => store.messages(range),
  };
}
