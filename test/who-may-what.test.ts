// suite: long

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import type { Reply } from './support/callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword, testRoles } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { usersOf } from './support/runs/run-people-stage.ts';
import { until } from './support/until.ts';

// The table of docs/security.md, "What an engineering user can and cannot do to others": a gateway answers for each of its cells.

const group = 'noc';
/** A user of each role in the group that may write the automations and approve, and one outside of it. */
const people = Object.fromEntries(
  testRoles.flatMap((role) => [
    [`${role}-in`, { roles: [role], groups: [group] }],
    [`${role}-out`, { roles: [role], groups: [] }],
  ]),
);
const catalogue = '/automation_catalog';
const owner = suiteOwner();
let gateway: Gateway;

interface Answer {
  readonly _id: string;
  readonly id: string;
  readonly status: string;
  readonly data: object;
}

function send(as: string, method: string, target: string, body?: unknown, type = 'application/json'): Promise<Reply> {
  const headers = { Authorization: basic(as, testPassword), ...(body !== undefined && { 'Content-Type': type }) };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return gateway.send({ method, target, headers, ...(body !== undefined && { body: text }) });
}

async function made(method: string, target: string, body?: unknown, as = 'admin-user'): Promise<Answer> {
  const reply = await send(as, method, target, body);
  assert.ok(reply.status < 300, `${method} ${target}: ${reply.text}`);
  return reply.json() as Answer;
}

const asks = { ask: { call: 'approval', with: { message: 'Go on?', approvers: { groups: [group] } } } };
const calls = { act: { call: 'orchestratorAction', with: { adapter: 'A', params: { path: 'x', accept: 'a/b' } } } };

/** `own`: engineering may write it. `theirs`: it calls an orchestrator, so that engineering may not. */
type Kind = 'own' | 'theirs';

let count = 0;
const next = (): number => (count += 1);

function document(name: string, version: string, tasks: readonly object[]): object {
  return { document: { dsl: '1.0.3', namespace: 'lab', name, version }, do: tasks };
}

/** An admin's automation with a schedule and a form, which the group may write. The form has its name. */
interface Thing {
  readonly kind: Kind;
  readonly target: string;
  readonly id: string;
  readonly name: string;
}

async function thing(kind: Kind): Promise<Thing> {
  const name = `thing-${next()}`;
  await made('PUT', `${catalogue}/forms/${name}`, { type: 'object', properties: { a: { type: 'number' } } });
  const data = { workflowId: `lab.${kind}`, formId: name, input: { a: 1 }, gbac: { write: [group], read: [] } };
  const body = { name, repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z', data };
  const { _id: id } = await made('POST', `${catalogue}/automations`, body);
  return { kind, target: `${catalogue}/automations/${id}`, id, name };
}

/** A workflow that an admin stored. */
async function workflow(kind: Kind, name = `${kind}-${next()}`): Promise<string> {
  await made('POST', `${catalogue}/workflows`, document(name, '1.0.0', kind === 'own' ? [asks] : [asks, calls]));
  return name;
}

/** A run that waits for people. */
async function run({ target }: Thing, as?: string): Promise<string> {
  const { id } = await made('POST', `${target}/run`, {}, as);
  await until('it waits for people', async () => (await made('GET', `/runs/${id}`)).status === 'waiting');
  return `/runs/${id}`;
}

async function endedRun(of: Thing): Promise<string> {
  const target = await run(of);
  await made('POST', `${target}/cancel`);
  return target;
}

async function approval(of: Thing, starter?: string): Promise<string> {
  const target = await run(of, starter);
  return await until('it has an approval', async () => {
    const page = await send('admin-user', 'GET', `/approvals?run=${target.slice('/runs/'.length)}`);
    const [first] = (page.json() as { readonly list: readonly Answer[] }).list;
    return first && `/approvals/${first.id}`;
  });
}

/** Tries it on what another person made. `involved`: the person who tries it has started the run. */
type Action = (as: string, of: Thing, involved: boolean) => Promise<Reply>;

const reason = { reason: 'x' };
const patch =
  (body: object): Action =>
  (as, { target }) =>
    send(as, 'PATCH', target, body);

const actions: Readonly<Record<string, Action>> = {
  'start a run': (as, { target }) => send(as, 'POST', `${target}/run`, {}),
  'pause a schedule': patch({ nextRunAt: null }),
  async 'resume a schedule'(as, { target }) {
    await made('PATCH', target, { nextRunAt: null }, 'readonly-in');
    return send(as, 'PATCH', target, { nextRunAt: 'next' });
  },
  'write a schedule': patch({ nextRunAt: '2999-01-02T00:00:00Z' }),
  'write an automation': patch({ data: { input: { a: 2 } } }),
  'delete an automation': (as, { target }) => send(as, 'DELETE', target),
  'take an automation': (as, { target }) => send(as, 'POST', `${target}/take`),
  async 'import an automation'(as, { target }) {
    const { data, ...rest } = await made('GET', target);
    const line = JSON.stringify({ ...rest, data: { ...data, input: { a: 3 } } });
    return send(as, 'POST', `${catalogue}/import`, line, 'application/x-ndjson');
  },
  async 'store a version of a workflow'(as, { kind }) {
    const name = await workflow(kind);
    return send(as, 'POST', `${catalogue}/workflows`, document(name, '1.1.0', [asks]));
  },
  'take a workflow': async (as, { kind }) => send(as, 'POST', `${catalogue}/workflows/lab.${await workflow(kind)}/take`),
  'store a form': (as, { name }) =>
    send(as, 'PUT', `${catalogue}/forms/${name}`, { type: 'object', properties: { a: { type: 'integer' } } }),
  'send an event to runs': (as) =>
    send(
      as,
      'POST',
      '/events',
      { specversion: '1.0', id: `${next()}`, source: 'https://a.example', type: 'a.b' },
      'application/cloudevents+json',
    ),
  'cancel a run': async (as, of) => send(as, 'POST', `${await run(of)}/cancel`),
  'suspend a run': async (as, of) => send(as, 'POST', `${await run(of)}/suspend`),
  'repeat a run': async (as, of) => send(as, 'POST', `${await endedRun(of)}/rerun`),
  // No call of the run is undecided: a conflict is for those who may decide.
  'decide about an unknown outcome': async (as, of) =>
    send(as, 'POST', `${await run(of)}/decide`, { task: '1', as: 'done', ...reason }),
  'grant an approval': async (as, of, involved) =>
    send(as, 'POST', `${await approval(of, involved ? as : undefined)}/grant`, reason),
  'reject an approval': async (as, of, involved) =>
    send(as, 'POST', `${await approval(of, involved ? as : undefined)}/reject`, reason),
};

async function may(
  action: Action,
  as: string,
  { kind = 'own', involved = false }: { readonly kind?: Kind; readonly involved?: boolean } = {},
): Promise<boolean> {
  const { status, text } = await action(as, await thing(kind), involved);
  assert.ok(status < 300 || [403, 404, 409].includes(status), `${as}: ${status} ${text}`);
  return status !== 403 && status !== 404;
}

const ofCalls: ReadonlySet<string> = new Set(['grant an approval', 'reject an approval']);

/** A row of the table: each word of it is what the gateway answers. */
async function row(name: string, action: Action): Promise<string> {
  const word = async (as: string): Promise<string> => ((await may(action, as)) ? 'yes' : 'no');
  const admin = (await may(action, 'admin-out')) ? 'yes' : (await may(action, 'admin-in')) ? 'in a group' : 'no';
  const engineering = await word('engineering-in');
  const others = await Promise.all(['other-in', 'readonly-in', 'apiread-in'].map(word));
  assert.equal(new Set(others).size, 1, `${name}: the other roles are alike`);
  const conditions: string[] = [];
  const [other] = others;
  const able = [...(engineering === 'yes' ? ['engineering'] : []), ...(other === 'yes' ? ['other', 'readonly', 'apiread'] : [])];
  const outside = await Promise.all(able.map((role) => may(action, `${role}-out`)));
  assert.equal(new Set(outside).size <= 1, true, `${name}: groups mean the same for every role`);
  if (outside.includes(false)) conditions.push('is in a group');
  if (engineering === 'yes' && !(await may(action, 'engineering-in', { kind: 'theirs' })))
    conditions.push('may write the workflow');
  if (ofCalls.has(name) && !(await may(action, 'engineering-in', { involved: true }))) conditions.push('had no hand in the call');
  return `| ${name} | ${admin} | ${engineering} | ${other} | ${conditions.join(', ') || '–'} |`;
}

before(async () => {
  gateway = await startGateway(owner, { users: usersOf(people) });
  for (const kind of ['own', 'theirs'] as const) await workflow(kind, kind);
});

const page = readFileSync(new URL('../docs/security.md', import.meta.url), 'utf8');
const part = /\n## What an engineering user can and cannot do to others\n([\s\S]*?)\n## /u.exec(page)?.[1] ?? '';

test('the table of who may do what to others is what a gateway answers', async () => {
  const rows: string[] = [];
  for (const [name, action] of Object.entries(actions)) rows.push(await row(name, action));
  const head = [
    '| to do this to what another person made | admin | engineering | other, readonly, apiread | only if the person |',
    '|---|---|---|---|---|',
  ];
  const table = part.split('\n').filter((line) => line.startsWith('|'));
  assert.deepEqual(table, [...head, ...rows], `docs/security.md should have:\n${[...head, ...rows].join('\n')}`);
});

test('each sentence about what an engineering user cannot do names a test that exists', () => {
  const sentences = part.split('\n- ').slice(1);
  assert.ok(sentences.length > 5);
  for (const sentence of sentences) {
    const [, file = '', name = ''] = /`(test\/[^`]+)`: “([^”]+)”/u.exec(sentence.replaceAll(/\s+/gu, ' ')) ?? [];
    assert.ok(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').includes(`'${name}'`), sentence);
  }
});
