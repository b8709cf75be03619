import assert from 'node:assert/strict';
import type { Reply } from '../callers/http-client.ts';
import type { Gateway } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import { until } from '../until.ts';

/** A run as the gateway answers it. */
export interface SeenRun {
  readonly id: string;
  readonly status: string;
  readonly suspendedBy?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly error?: SeenError;
}

export interface SeenTask {
  readonly id: string;
  readonly name: string;
  readonly reference: string;
  readonly status: string;
  readonly iteration?: number;
  readonly error?: SeenError;
}

interface SeenError {
  readonly type: string;
  readonly status: number;
  readonly title?: string;
  readonly detail?: string;
}

/** Stores workflows and starts runs, as an admin at one gateway of several. */
export interface RunCaller {
  /** Stores a workflow of these tasks and an automation for it, and answers the `_id` of the automation. */
  automation(name: string, tasks: readonly TaskDocument[]): Promise<string>;
  /** Stores a workflow of these tasks, and answers what the gateway says. `type`: of the document, which is JSON and so YAML too. */
  store(name: string, tasks: readonly TaskDocument[], type?: string): Promise<Reply>;
  /** Starts a run. A repeated `key` starts none. */
  start(automation: string, options?: { readonly input?: object; readonly key?: string }): Promise<SeenRun>;
  read(id: string): Promise<SeenRun>;
  tasks(id: string): Promise<readonly SeenTask[]>;
  /** All runs, the newest first. */
  list(): Promise<readonly SeenRun[]>;
  /** Waits until the run has one of these statuses. */
  reaches(id: string, ...statuses: readonly string[]): Promise<SeenRun>;
  /** `change`: `cancel`, `resume` and so on. Its body, where it has one. */
  change(id: string, change: string, body?: object): Promise<Reply>;
}

type Ask = (method: string, target: string, body?: string, headers?: Readonly<Record<string, string>>) => Promise<Reply>;

/** `gateway` is asked for each request, since a test may start it again. `authorization` holds after a restart. */
export function runCaller(gateway: () => Gateway, authorization: string): RunCaller {
  const ask: Ask = async (method, target, body, headers = {}) => {
    for (;;) {
      const request = { method, target, headers: { authorization, ...headers }, ...(body !== undefined && { body }) };
      const reply = await gateway().send(request);
      // The machine is busy with other processes: the gateway did nothing.
      if (reply.status !== 503 || !reply.text.includes('"overloaded"')) return reply;
      await lapse(200, 'the machine may be less busy');
    }
  };
  const json = { 'content-type': 'application/json' };
  const read = async (id: string): Promise<SeenRun> => (await wanted(ask('GET', `/runs/${id}`), 200)).json() as SeenRun;
  const pages = async <T>(target: string): Promise<readonly T[]> => {
    const all: T[] = [];
    for (let cursor = ''; ; ) {
      const page = (await wanted(ask('GET', `${target}?limit=1000${cursor}`), 200)).json() as {
        readonly list: readonly T[];
        readonly cursor?: string;
      };
      all.push(...page.list);
      if (page.cursor === undefined) return all;
      cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
    }
  };
  const store: RunCaller['store'] = (name, tasks, type = 'application/json') => {
    const document = { dsl: '1.0.3', namespace: 'crash', name, version: '1.0.0' };
    return ask('POST', '/automation_catalog/workflows', JSON.stringify({ document, do: tasks }), { 'content-type': type });
  };
  return {
    store,
    async automation(name, tasks) {
      await wanted(store(name, tasks), 201);
      const body = JSON.stringify({ name, data: { workflowId: `crash.${name}` } });
      const made = await wanted(ask('POST', '/automation_catalog/automations', body, json), 201);
      return (made.json() as { readonly _id: string })._id;
    },
    async start(automation, { input = {}, key } = {}) {
      const headers = { ...json, ...(key !== undefined && { 'idempotency-key': key }) };
      const target = `/automation_catalog/automations/${automation}/run`;
      return (await wanted(ask('POST', target, JSON.stringify({ input }), headers), 201)).json() as SeenRun;
    },
    read,
    tasks: (id) => pages<SeenTask>(`/runs/${id}/tasks`),
    list: () => pages<SeenRun>('/runs'),
    async reaches(id, ...statuses) {
      let run = await read(id);
      await until(`run ${id} is ${statuses.join(' or ')}`, async () => {
        if (!statuses.includes(run.status)) run = await read(id);
        return statuses.includes(run.status);
      });
      return run;
    },
    change: (id, change, body) =>
      ask('POST', `/runs/${id}/${change}`, body && JSON.stringify(body), body === undefined ? {} : json),
  };
}

async function wanted(asked: Promise<Reply>, status: number): Promise<Reply> {
  const reply = await asked;
  assert.equal(reply.status, status, reply.text);
  return reply;
}

/** A task of a workflow document, by its name. */
export type TaskDocument = Readonly<Record<string, object>>;

/** A task that makes an action. `number`: a jq expression for what the upstream counts it by. */
export function actionTask(name: string, number: string): TaskDocument {
  const params = { path: '/act', accept: 'application/json' };
  return { [name]: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { action: `\${ ${number} }` } } } };
}

/** A task that makes a query. */
export function queryTask(name: string): TaskDocument {
  return {
    [name]: { call: 'orchestratorQuery', with: { adapter: 'Far', params: { path: '/ask', accept: 'application/json' } } },
  };
}
