import assert from 'node:assert/strict';
import { type Gateway, type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { until } from '../until.ts';
import { jsonReply, upstream } from '../upstreams/upstream.ts';
import { WebhookReceiver } from '../upstreams/webhook-receiver.ts';
import { actionTask, type RunCaller, runCaller, type SeenRun } from './run-caller.ts';

/** An upstream that does with an action what its name begins with: `fail`, `drop` (no reply), `hold` (until it is released), or answers. */
export interface BatchFar {
  readonly url: string;
  /** In the order of arrival. */
  readonly arrived: readonly string[];
  /** Actions without an answer yet. */
  readonly held: readonly string[];
  /** Answers these actions; absent: all that it holds. */
  release(...actions: readonly string[]): void;
}

export async function batchFar(owner: Owner): Promise<BatchFar> {
  const arrived: string[] = [];
  const holding = new Map<string, () => void>();
  const far = await upstream(owner, async ({ body }, socket) => {
    const { action: given } = JSON.parse(body.toString()) as { readonly action: unknown };
    const action = typeof given === 'string' ? given : JSON.stringify(given);
    arrived.push(action);
    if (action.startsWith('drop')) return void socket.destroy();
    if (action.startsWith('fail')) return jsonReply('{"why":"it failed"}', { status: 500 });
    if (action.startsWith('hold')) {
      const { promise, resolve } = Promise.withResolvers<void>();
      holding.set(action, resolve);
      socket.on('close', () => holding.delete(action));
      await promise;
      holding.delete(action);
    }
    return jsonReply(JSON.stringify({ action, filler: action.startsWith('long') ? 'é'.repeat(6_000) : '' }));
  });
  return {
    url: far.url,
    arrived,
    get held() {
      return [...holding.keys()];
    },
    release(...actions) {
      for (const [action, answer] of holding) if (actions.length === 0 || actions.includes(action)) answer();
    },
  };
}

/** An entry of the list that a batch gives. */
export interface BatchEntry {
  readonly index: number;
  readonly run?: string;
  readonly status: string;
  readonly item?: unknown;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly truncated?: boolean;
}

export interface BatchOutput {
  readonly list: readonly BatchEntry[];
  readonly completed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly cancelled: number;
  readonly notStarted: number;
}

export interface BatchStage {
  readonly far: BatchFar;
  readonly gateway: GatewayProcess;
  readonly caller: RunCaller;
  /** Gets the events of batches, and of runs. */
  readonly receiver: WebhookReceiver;
  /** Starts a run whose one task `all` is a batch over these items. `rules`: further members of `with`. */
  begin(items: readonly unknown[], rules?: object): Promise<SeenRun>;
  /** The runs of the items, by index. */
  children(run: string): Promise<readonly SeenRun[]>;
  /** Waits until the child of an item has one of these statuses, and answers it. */
  child(run: string, index: number, ...statuses: readonly string[]): Promise<SeenRun>;
  /** The types of the events of batches that the receiver has of the run. */
  told(run: string): readonly string[];
}

/** The workflow of an item: one action, named as the item. */
export const one = { namespace: 'crash', name: 'item', version: '1.0.0' };

export function batchOf(items: string, rules: object = {}): object {
  return { call: 'batch', with: { items, workflow: one, ...rules } };
}

/** A gateway with eight places, so six for a person. */
export async function batchStage(owner: Owner, store: TestStore): Promise<BatchStage> {
  const far = await batchFar(owner);
  const receiver = await WebhookReceiver.start(owner);
  const events = ['orchestration-gateway.batch.*.v1', 'io.serverlessworkflow.workflow.*.v1'];
  const gateway = await startGatewayProcess(owner, {
    config: {
      store: { url: storeUrl(await store.empty(owner)) },
      automations: { tasks: 8 },
      notifications: [{ url: receiver.url, secret: receiver.secret, events }],
    },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url, concurrency: 64 }],
  });
  const caller = runCaller(() => gateway, `Bearer ${await gateway.tokenFor('admin')}`);
  await caller.automation('item', [actionTask('act', '$workflow.input.item')]);
  let count = 0;
  const children: BatchStage['children'] = async (run) => {
    const list = await listedRuns(gateway, 'limit=1000');
    return list.filter(({ id }) => parentOf(id) === run).toSorted((a, b) => indexOf(a) - indexOf(b));
  };
  return {
    far,
    gateway,
    caller,
    receiver,
    async begin(items, rules = {}) {
      count += 1;
      const automation = await caller.automation(`batch${count}`, [{ all: batchOf('${ $workflow.input.items }', rules) }]);
      return await caller.start(automation, { input: { items } });
    },
    children,
    async child(run, index, ...statuses) {
      let found: SeenRun | undefined;
      await until(`the run of item ${index} is ${statuses.join(' or ')}`, async () => {
        found = (await children(run)).find((one) => indexOf(one) === index);
        return found !== undefined && statuses.includes(found.status);
      });
      assert.ok(found !== undefined);
      return found;
    },
    told: (run) =>
      receiver.attempts
        .filter(({ type, source }) => type.includes('.batch.') && source === `/runs/${run}`)
        .map(({ type }) => type),
  };
}

/** Runs of batches too. */
export async function listedRuns(gateway: Gateway, query: string): Promise<readonly SeenRun[]> {
  const all = await gateway.send({ target: `/runs?${query}&children=true`, role: 'admin' });
  // A gateway without the parameter lists them in any case.
  const reply = all.status === 400 ? await gateway.send({ target: `/runs?${query}`, role: 'admin' }) : all;
  assert.equal(reply.status, 200, reply.text);
  return (reply.json() as { readonly list: readonly SeenRun[] }).list;
}

function parentOf(id: string): string {
  return id.split('.').slice(0, -2).join('.');
}

function indexOf({ id }: SeenRun): number {
  return Number(id.slice(id.lastIndexOf('-') + 1));
}
