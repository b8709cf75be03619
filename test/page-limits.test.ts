import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TaskDocument } from './support/runs/run-caller.ts';
import { runStage } from './support/runs/run-stage.ts';

// A page of any list has at most 4 MiB: fewer rows, and the way to the others.

const { gateway, caller } = await runStage({ after });
const mostBytes = 4 * 1024 ** 2;
const json = { 'Content-Type': 'application/json' };

interface Page {
  readonly list: readonly { readonly id?: string; readonly name?: string }[];
  readonly total?: number;
  readonly skip?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

async function send(method: string, target: string, body?: object, role: 'admin' = 'admin'): Promise<Page> {
  const reply = await gateway.send({ method, target, role, headers: json, ...(body && { body: JSON.stringify(body) }) });
  assert.ok(reply.status < 300, reply.text.slice(0, 500));
  if (method === 'GET') assert.ok(Buffer.byteLength(reply.text) <= mostBytes + 10_000, `${reply.text.length} characters`);
  return reply.json() as Page;
}

/** All pages of a listing with `skip`, by the number of rows of each. */
async function pagesBySkip(target: string): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for (let skip = 0; ; ) {
    const page = await send('GET', `${target}?limit=1000&skip=${skip}`);
    pages.push(page);
    skip += page.list.length;
    if (skip >= (page.total ?? 0)) return pages;
  }
}

test('pages of automations with long inputs have fewer rows, the true total, and their number of rows as limit', async () => {
  const names = Array.from({ length: 24 }, (_, index) => `long ${String(index).padStart(2, '0')}`);
  for (const name of names) {
    const input = { text: 'x'.repeat(250_000) };
    await send('POST', '/automation_catalog/automations', { name, data: { input } });
  }
  const pages = await pagesBySkip('/automation_catalog/automations');
  assert.ok(pages.length >= 2);
  assert.deepEqual(
    pages.flatMap(({ list }) => list.map(({ name }) => name)).filter((name) => name?.startsWith('long')),
    names,
  );
  const [first] = pages;
  assert.deepEqual([first?.limit, first?.total], [first?.list.length, pages.reduce((sum, { list }) => sum + list.length, 0)]);
  assert.equal(pages.at(-1)?.limit, 1_000, 'a page with all rows keeps the limit of its caller');
});

test('pages of tasks with long names have fewer rows and a cursor', async () => {
  let nested: TaskDocument = { set: { a: 1 } };
  for (let level = 0; level < 30; level += 1) nested = { do: [{ [String(level).padStart(250, 'n')]: nested }] };
  const each = { for: { each: 'n', in: '${ [range(50)] }' }, do: [{ turn: nested }] };
  const { id } = await caller.start(await caller.automation('names', [{ each }]));
  await caller.reaches(id, 'completed');
  const pages: Page[] = [];
  for (let cursor = ''; ; ) {
    const page = await send('GET', `/runs/${id}/tasks?limit=1000${cursor}`);
    pages.push(page);
    if (page.cursor === undefined) break;
    cursor = `&cursor=${page.cursor}`;
  }
  const ids = pages.flatMap(({ list }) => list.map((task) => task.id));
  assert.ok((pages[0]?.list.length ?? 0) < 1_000);
  assert.equal(new Set(ids).size, 1 + 50 * 31);
  const metrics = await gateway.send({ target: '/metrics', role: 'readonly' });
  assert.match(metrics.text, /gateway_limit_reached_total\{limit="page"\} [1-9]/u);
});

test('a request with too long a body is 413, and the metric of limits counts it', async () => {
  const headers = { 'Content-Type': 'application/cloudevents+json' };
  const reply = await gateway.send({ method: 'POST', target: '/events', role: 'admin', headers, body: 'x'.repeat(300_000) });
  assert.equal(reply.status, 413, reply.text);
  const metrics = await gateway.send({ method: 'GET', target: '/metrics', role: 'admin' });
  assert.match(metrics.text, /gateway_limit_reached_total\{limit="request-body"\} [1-9]/u);
});
