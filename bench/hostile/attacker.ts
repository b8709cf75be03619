/**
 * The process of the hostile user, with its upstream. It says the address of the upstream over IPC and gets a `HostileOrder`. It prepares its
 * automations, says that it begins, and calls flat out until the next message. Then it says its `HostileCounts` and ends.
 */
import { once } from 'node:events';
import { Pool } from 'undici';
import { hostileUpstream } from './upstream.ts';
import { hostileWorkflows } from './workflows.ts';

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
