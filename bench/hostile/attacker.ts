/**
 * The process of the hostile user, with its upstream. It says the address of the upstream over IPC and gets a `HostileOrder`. It prepares its
 * automations, says that it begins, and calls flat out until the next message. Then it says its `HostileCounts` and ends.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

export interface HostileOrder {
  readonly port: number;
  /** A bearer token of the hostile user. */
  readonly token: string;
}

/** Number of replies by attack, and by status with its code. */
export type HostileCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

interface Attack {
  readonly path: string;
  /** A GET without it. `count`: the number of earlier calls. */
  readonly body?: (count: number) => object;
  readonly type?: string;
}

/** Connections of each attack. */
const connections = 2;

process.on('disconnect', () => process.exit());
const far = await hostileUpstream();
const asked = once(process, 'message') as Promise<[HostileOrder]>;
process.send?.(far);
const [{ port, token }] = await asked;
const stopping = new AbortController();
process.once('message', () => stopping.abort());
// The end of the process closes the connections.
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 128, headersTimeout: 60_000, bodyTimeout: 60_000 });
const counts: Record<string, Record<string, number>> = {};

const attacks: Record<string, Attack> = {
  restCall: { path: '/tools/restCall', body: () => ({ uri: `${far}/large`, verb: 'GET', responseHeaders: false }) },
  events: { path: '/events', body: largeEvent, type: 'application/cloudevents+json' },
  'list of runs': { path: '/runs?limit=1000' },
  'list of approvals': { path: '/approvals?limit=1000' },
  'list of automations': { path: '/automation_catalog/automations?limit=1000' },
  'store workflow': { path: '/automation_catalog/workflows', body: (count) => largeWorkflow(`2.0.${count}`) },
  'check workflow': { path: '/automation_catalog/workflows/check', body: () => largeWorkflow('3.0.0') },
  preview: {
    path: '/orchestrator_manager/preview/Bench',
    body: () => ({ params: { method: 'PATCH', path: 'a', accept: '*/*' } }),
  },
};
for (const [name, tasks] of Object.entries(hostileWorkflows(far))) {
  const automation = await automationOf(name, tasks);
  attacks[`start ${name}`] = { path: `/automation_catalog/automations/${automation}/run`, body: () => ({}) };
}
process.send?.('begun');
const lanes = Object.entries(attacks).flatMap(([name, attack]) =>
  Array.from({ length: connections }, (_, lane) => attackUntilStopped(name, attack, lane)),
);
await once(stopping.signal, 'abort');
// Replies that are still to come do not count: the gateway may be slow to refuse.
process.send?.(counts, () => process.exit());
await Promise.all(lanes);

async function attackUntilStopped(name: string, attack: Attack, lane: number): Promise<void> {
  const seen: Record<string, number> = {};
  counts[name] ??= seen;
  const mine = counts[name];
  for (let count = lane; !stopping.signal.aborted; count += connections) {
    const outcome = await outcomeOf(attack, count);
    mine[outcome] = (mine[outcome] ?? 0) + 1;
  }
}

/** The status, with the code of a problem; or why there was no reply. */
async function outcomeOf({ path, body, type }: Attack, count: number): Promise<string> {
  try {
    const { status, text } = await send(path, body?.(count), type);
    return status < 400 ? String(status) : `${status} ${/"code":"([^"]+)"/u.exec(text)?.[1] ?? ''}`;
  } catch (error) {
    return String((error as { readonly code?: string }).code ?? error);
  }
}

async function send(path: string, body?: object, type = 'application/json'): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': type }) };
  const text = body === undefined ? null : JSON.stringify(body);
  const reply = await pool.request({ method: body === undefined ? 'GET' : 'POST', path, headers, body: text });
  return { status: reply.statusCode, text: await reply.body.text() };
}

async function automationOf(name: string, tasks: readonly object[]): Promise<string> {
  const document = { dsl: '1.0.3', namespace: 'hostile', name, version: '1.0.0' };
  const stored = await send('/automation_catalog/workflows', { document, do: tasks });
  if (stored.status !== 201) throw new Error(`${name}: ${stored.text}`);
  const made = await send('/automation_catalog/automations', {
    name: `hostile ${name}`,
    data: { workflowId: `hostile.${name}` },
  });
  if (made.status !== 201) throw new Error(`${name}: ${made.text}`);
  return (JSON.parse(made.text) as { readonly _id: string })._id;
}

function largeEvent(count: number): object {
  const data = { text: 'x'.repeat(250_000) };
  return {
    specversion: '1.0',
    id: `${process.pid}-${count}`,
    source: 'https://hostile.example.net',
    type: 'net.example.a',
    data,
  };
}

function largeWorkflow(version: string): object {
  const tasks = Array.from({ length: 2000 }, (_, index) => ({ [`task${index}`]: { set: { value: `\${ .value + ${index} }` } } }));
  return { document: { dsl: '1.0.3', namespace: 'hostile', name: 'large', version }, do: tasks };
}

/** A little less than 8 MiB, the limit of a document and of a reply in a run. */
const size = 8 * 1024 * 1024 - 4096;

/** Starts the upstream of the hostile user in this process: large and broken documents, and a path without a reply. */
async function hostileUpstream(): Promise<string> {
  const documents = new Map([
    ['/large', JSON.stringify({ text: 'x'.repeat(size) })],
    ['/broken', '{"openapi":"3.1.0","paths":{"/read":{"get":['.repeat(1000)],
    ['/openapi', largeDescription()],
  ]);
  const server = createServer((request, response) => {
    const text = documents.get(request.url ?? '');
    request.resume();
    if (text !== undefined) response.setHeader('Content-Type', 'application/json').end(text);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An OpenAPI document of nearly 8 MiB with very many operations. */
function largeDescription(): string {
  const operation = (id: string): object => ({ get: { operationId: id, responses: { 200: { description: 'ok' } } } });
  const paths: Record<string, object> = { '/large': operation('read') };
  const each = JSON.stringify(operation('other100000')).length + '"/other100000":,'.length;
  for (let number = 0; number < Math.floor(size / each) - 10; number += 1) paths[`/other${number}`] = operation(`other${number}`);
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'large', version: '1' }, paths });
}

/** A list of tasks of a workflow. */
type Tasks = readonly Readonly<Record<string, object>>[];

/** Runs the tasks without end, and goes on after an error. */
function forever(task: object): Tasks {
  const caught = { try: [{ work: task }], catch: { as: 'error', do: [{ next: { set: { failed: true } } }] } };
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the DSL
  return [{ turn: { ...caught, then: 'turn' } }];
}

/** The tasks that the hostile user runs, by name. `far`: the address of its own upstream. */
function hostileWorkflows(far: string): Readonly<Record<string, Tasks>> {
  const jq = (expression: string): string => `\${ ${expression} }`;
  const raised = { type: 'https://example.net/a', status: 400, title: jq('"x" * 1000000'), detail: jq('"x" * 1000000') };
  const event = { source: 'https://hostile.example.net', type: 'net.example.large', data: jq('{ text: ("x" * 200000) }') };
  const openapi = (path: string): object => ({
    call: 'openapi',
    with: { document: { endpoint: `${far}/${path}` }, operationId: 'read' },
  });
  const restCall = (path: string): object => ({ call: 'restCall', with: { uri: `${far}/${path}`, verb: 'GET' } });
  const question = { message: jq('"x" * 10240'), approvers: { groups: ['noc'] } };
  return {
    waits: forever({ wait: { milliseconds: 1 } }),
    computes: forever({ set: { a: 1 } }),
    'slow-jq': forever({ set: { out: jq('last(range(1e12))') } }),
    'slow-pattern': forever({ set: { out: jq('("a" * 40) | test("^(a+)+$b")') } }),
    'large-jq': forever({ set: { out: jq('"x" * 8000000') } }),
    errors: forever({ raise: { error: raised } }),
    emits: forever({ emit: { event: { with: event } } }),
    'calls-large': forever(restCall('large')),
    'calls-silent': forever(restCall('silent')),
    'openapi-broken': forever(openapi('broken')),
    'openapi-large': forever(openapi('openapi')),
    asks: [{ ask: { call: 'approval', with: question } }],
  };
}
