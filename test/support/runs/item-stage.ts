import assert from 'node:assert/strict';
import type { Reply } from '../callers/http-client.ts';
import { basic, type configurationOf, type Gateway, startGateway, testPassword } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { until } from '../until.ts';
import { jsonReply, upstream } from '../upstreams/upstream.ts';
import type { BatchOutput } from './batch-stage.ts';
import { stagePeople, usersOf } from './run-people-stage.ts';

/** Those of `stagePeople`, approvers without a role, and people with rights to decide. */
export const itemPeople = {
  ...stagePeople,
  lea: { roles: [], groups: ['noc-leads'] },
  leo: { roles: [], groups: ['noc-leads'] },
  dan: { roles: ['decides-all'], groups: ['noc'] },
  dot: { roles: ['decides-some'], groups: ['noc'] },
} as const;

export type ItemPerson = keyof typeof itemPeople;

const roles = [
  { name: 'decides-all', allows: [{ routes: ['decideRun', 'readRun', 'listRuns', 'listRunTasks'] }] },
  { name: 'decides-some', allows: [{ routes: ['decideRun', 'readRun', 'listRuns'], workflows: ['lab.batch*'] }] },
];

/** An item as the gateway answers it. */
export interface SeenItem {
  readonly index: number;
  readonly run?: string;
  readonly status: string;
  readonly item: unknown;
  readonly output?: unknown;
  readonly error?: { readonly status: number };
  readonly truncated?: boolean;
}

export interface ItemPage {
  readonly list: readonly SeenItem[];
  readonly cursor?: string;
}

export interface ItemRun {
  readonly id: string;
  readonly status: string;
  readonly input?: unknown;
  readonly output?: BatchOutput;
  readonly error?: { readonly detail?: string };
  readonly warnings?: readonly string[];
  readonly parent?: { readonly run: string };
  readonly items?: Readonly<Record<'parallel' | keyof Omit<BatchOutput, 'list'> | 'total', number>>;
}

/** Upstream actions by the name in their body. */
interface ItemFar {
  readonly arrived: string[];
  /** These get 500, and those that are dropped no reply. */
  readonly failing: Set<string>;
  readonly dropping: Set<string>;
  /** These are not answered until they are released. */
  readonly holding: Set<string>;
  release(): void;
}

/** The workflow of an item: one action, named as the item. */
export const itemWorkflow = { namespace: 'lab', name: 'item', version: '1.0.0' };

/** A task that makes an action at `Far`. `action`: its name, a jq expression. */
export function namedAction(name: string, action = '$workflow.input.item'): object {
  const params = { path: 'act', accept: 'application/json' };
  return { [name]: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { action: `\${ ${action} }` } } } };
}

export function batchTask(name: string, rules: object = {}, items = '${ $workflow.input.items }'): object {
  return { [name]: { call: 'batch', with: { items, workflow: itemWorkflow, ...rules } } };
}

/** A gateway on the store with an orchestrator `Far`, and the workflow `lab.item`. `config`: such as rules of approvals. */
export async function itemStage(owner: Owner, store: TestStore, config: object = {}) {
  const far: ItemFar = {
    arrived: [],
    failing: new Set(),
    dropping: new Set(),
    holding: new Set(),
    release: () => free.resolve(),
  };
  let free = Promise.withResolvers<void>();
  const server = await upstream(owner, async ({ body }, socket) => {
    const given = (JSON.parse(body.toString()) as { readonly action: unknown }).action;
    const action = typeof given === 'string' ? given : JSON.stringify(given);
    far.arrived.push(action);
    if (far.dropping.has(action)) return void socket.destroy();
    if (far.holding.has(action)) {
      await free.promise;
      free = Promise.withResolvers();
    }
    return far.failing.has(action) ? jsonReply('{"why":"it failed"}', { status: 500 }) : jsonReply(JSON.stringify({ action }));
  });
  const url = storeUrl(await store.empty(owner));
  const configured = (more: object): Parameters<typeof configurationOf>[0] => ({
    config: { store: { url }, automations: { tasks: 8 }, access: { roles }, ...more },
    adapters: [{ name: 'Far', kind: 'rest', url: server.url, concurrency: 64 }],
    users: usersOf(itemPeople),
  });
  let gateway: Gateway = await startGateway(owner, configured(config));
  const send = (as: ItemPerson, method: string, target: string, body?: unknown, key?: string): Promise<Reply> => {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = { Authorization: basic(as, testPassword), ...type, ...(key !== undefined && { 'Idempotency-Key': key }) };
    return gateway.send({ method, target, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };
  const asked = async <T>(reply: Promise<Reply>, status = 200): Promise<T> => {
    const answer = await reply;
    assert.equal(answer.status, status, answer.text);
    return answer.json() as T;
  };
  const put = (name: string, tasks: readonly object[], version = '1.0.0'): Promise<unknown> => {
    const document = { dsl: '1.0.3', namespace: 'lab', name, version };
    return asked(send('ann', 'POST', '/automation_catalog/workflows', { document, do: tasks }), 201);
  };
  const automation = async (name: string): Promise<string> => {
    const data = { workflowId: `lab.${name}`, gbac: { write: ['noc'], read: [] } };
    const made = asked<{ readonly _id: string }>(send('ann', 'POST', '/automation_catalog/automations', { name, data }), 201);
    return (await made)._id;
  };
  const read = (id: string): Promise<ItemRun> => asked(send('ann', 'GET', `/runs/${id}`));
  await put('item', [namedAction('act')]);
  let count = 0;
  const start = async (tasks: readonly object[], input: object, as: ItemPerson = 'ann'): Promise<ItemRun> => {
    count += 1;
    await put(`batch${count}`, tasks);
    const target = `/automation_catalog/automations/${await automation(`batch${count}`)}/run`;
    return await asked(send(as, 'POST', target, { input }), 201);
  };
  return {
    far,
    gateway: () => gateway,
    configured,
    send,
    asked,
    put,
    start,
    read,
    restart: async (): Promise<void> => {
      gateway = await gateway.restart();
    },
    reaches: async (id: string, ...statuses: readonly string[]): Promise<ItemRun> => {
      let run = await read(id);
      await until(`run ${id} is ${statuses.join(' or ')}`, async () => {
        if (!statuses.includes(run.status)) run = await read(id);
        return statuses.includes(run.status);
      });
      return run;
    },
    /** Waits until the run has so many items in this state. */
    counts: async (id: string, of: keyof NonNullable<ItemRun['items']>, wanted: number): Promise<ItemRun> => {
      let run = await read(id);
      await until(`${wanted} items of ${id} are ${of}`, async () => {
        run = await read(id);
        return run.items?.[of] === wanted;
      });
      return run;
    },
    items: (id: string, query = '', task = '1', as: ItemPerson = 'ann'): Promise<ItemPage> =>
      asked(send(as, 'GET', `/runs/${id}/tasks/${task}/items${query}`)),
  };
}

export type ItemStage = Awaited<ReturnType<typeof itemStage>>;
