// suite: long

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { startGateway } from './support/gateway/start-gateway.ts';
import { readStream } from './support/runs/read-stream.ts';
import { runCaller, type TaskDocument } from './support/runs/run-caller.ts';
import { until } from './support/until.ts';
import { upstream } from './support/upstreams/upstream.ts';

// A page of any list has at most 4 MiB: fewer rows, and the way to the others.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    config: {
      approvals: [{ name: 'pages', when: { routes: ['restCall'] }, approvers: { groups: ['noc'] } }],
      outbound: { allow: [far.authority] },
    },
  },
);
const authorization = `Bearer ${await gateway.tokenFor('admin')}`;
const caller = runCaller(() => gateway, authorization);
const maxBytes = 4 * 1024 ** 2;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly call: { readonly path: string };
  readonly route?: string;
  readonly error?: { readonly title: string };
}

interface Page {
  readonly list: readonly Row[];
  readonly total?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

async function send(method: string, target: string, body?: object): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { authorization, 'content-type': 'application/json' };
  return await gateway.send({ method, target, headers, ...(body && { body: JSON.stringify(body) }) });
}

/** Some at once, since each of them waits for the store. */
async function times(count: number, work: (index: string) => Promise<unknown>): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => String(index).padStart(4, '0')).values();
  await Promise.all(Array.from({ length: 16 }, async () => Array.fromAsync(indexes, work)));
}

/** All pages of a list, by its cursor or by `skip`, each with at most 4 MiB. */
async function pagesOf(target: string): Promise<readonly Page[]> {
  const pages: Page[] = [];
  for (let next: string | undefined = ''; next !== undefined; ) {
    const { status, text } = await send('GET', `${target}?limit=1000${next}`);
    assert.equal(status, 200, text.slice(0, 500));
    assert.ok(Buffer.byteLength(text) <= maxBytes, `${Buffer.byteLength(text)} bytes`);
    const page = JSON.parse(text) as Page;
    pages.push(page);
    const seen = pages.reduce((sum, { list }) => sum + list.length, 0);
    if (page.total === undefined) next = page.cursor && `&cursor=${page.cursor}`;
    else next = seen < page.total ? `&skip=${seen}` : undefined;
  }
  return pages;
}

/** Each list with so many rows that no page has all of them. `textOf`: what of a row begins with its number. */
const lists: readonly {
  readonly of: string;
  readonly target: string;
  readonly rows: number;
  readonly fill: (index: string) => Promise<unknown>;
  readonly textOf: (row: Row) => string | undefined;
}[] = [
  {
    of: 'automations',
    target: '/automation_catalog/automations',
    rows: 24,
    fill: (index) =>
      made('POST', '/automation_catalog/automations', { name: `p${index}`, data: { input: { text: 'x'.repeat(250_000) } } }),
    textOf: ({ name }) => name,
  },
  {
    of: 'forms',
    target: '/automation_catalog/forms',
    rows: 90,
    fill: (index) =>
      made('PUT', `/automation_catalog/forms/p${index}`, { type: 'object', title: '\u0001'.repeat(10_000), properties: {} }),
    textOf: ({ id }) => id,
  },
  {
    of: 'workflows',
    target: '/automation_catalog/workflows',
    rows: 20,
    fill: async (index) => {
      const document = { dsl: '1.0.3', namespace: 'pages', name: `p${index}`, version: '1.0.0' };
      await made('POST', '/automation_catalog/workflows', { document, do: [{ only: { set: { a: 1 } } }] });
      await until('the versions are copied', () => copyVersions(`pages.p${index}`, 1_000));
    },
    textOf: ({ id }) => id.slice('pages.'.length),
  },
  {
    of: 'approvals',
    target: '/approvals',
    rows: 300,
    fill: async (index) => {
      const uri = `${far.url}/p${index}/${'a'.repeat(8_000)}`;
      const call = { verb: 'POST', uri, headers: { 'X-Long': 'a'.repeat(12_000) }, body: {}, responseHeaders: true };
      const { status, text } = await send('POST', '/tools/restCall', call);
      assert.equal(status, 403, text);
    },
    textOf: ({ call }) => call.path.slice(far.url.length + 1),
  },
  {
    of: 'the audit log',
    target: '/audit',
    // The calls that asked for those approvals.
    rows: 300,
    fill: () => Promise.resolve(),
    textOf: ({ address, route }) => (route === 'POST /tools/restCall' ? address.slice(far.url.length + 1) : undefined),
  },
  {
    of: 'runs',
    target: '/runs',
    rows: 420,
    fill: async (index) => {
      raising ??= caller.automation('raising', [{ stop: { raise: { error: longError } } }]);
      await caller.start(await raising, { input: { title: `p${index}` } });
    },
    textOf: ({ error }) => error?.title,
  },
];

let raising: Promise<string> | undefined;
const long = `\${ .title + ("\u0001" * 3000) }`;
const longError = { type: 'https://example.net/long', status: 400, title: long, detail: long };

/** To store so many documents would take minutes. False where the gateway writes: it is in this process, so a wait would stop it. */
function copyVersions(id: string, count: number): boolean {
  using database = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  const columns = 'version_key, document, media_type, definition, facts, created_at, created_by, digest, storers';
  const versions = `with recursive number(n) as (select 1 union all select n + 1 from number where n < ?)`;
  const version = `cast('1.0.0-' || printf('%04d', n) || ? as blob)`;
  const copy = database.prepare(
    `insert into workflow (id, version, ${columns}) ${versions} select id, ${version}, ${columns} from workflow, number where id = ?`,
  );
  try {
    copy.run(count, 'v'.repeat(230), Buffer.from(id));
    return true;
  } catch (error) {
    if (error instanceof Error && error.message === 'database is locked') return false;
    throw error;
  }
}

async function made(method: string, target: string, body: object): Promise<void> {
  const { status, text } = await send(method, target, body);
  assert.ok(status < 300, text);
}

for (const { of, target, rows, fill, textOf } of lists) {
  test(`pages of ${of} with long rows have at most 4 MiB, and lead to every row`, async () => {
    await times(rows, fill);
    let pages: readonly Page[] = [];
    let found: readonly string[] = [];
    // Some records come a second later, and runs end later.
    await until(`${rows} rows`, async () => {
      pages = await pagesOf(target);
      found = pages.flatMap(({ list }) => list.flatMap((row) => /^p(\d{4})/u.exec(textOf(row) ?? '')?.[1] ?? []));
      return found.length >= rows;
    });
    assert.deepEqual([found.length, new Set(found).size], [rows, rows]);
    assert.ok(pages.length >= 2, `${pages.length} pages`);
    const [{ total, limit } = { total: 0, limit: 0 }] = pages;
    if (total === undefined) return;
    assert.ok(pages.every((page) => page.total === total));
    assert.deepEqual([total, limit], [pages.reduce((sum, { list }) => sum + list.length, 0), pages[0]?.list.length]);
    assert.equal(pages.at(-1)?.limit, 1_000, 'a page with all rows keeps the limit of its caller');
  });
}

test('pages of tasks with long names have at most 4 MiB, and lead to every task', async () => {
  let nested: TaskDocument = { set: { a: 1 } };
  for (let level = 0; level < 30; level += 1) nested = { do: [{ [String(level).padStart(250, 'n')]: nested }] };
  const each = { for: { each: 'n', in: '${ [range(50)] }' }, do: [{ turn: nested }] };
  const { id } = await caller.start(await caller.automation('names', [{ each }]));
  await caller.reaches(id, 'completed');
  const pages = await pagesOf(`/runs/${id}/tasks`);
  assert.ok(pages.length >= 2);
  assert.equal(new Set(pages.flatMap(({ list }) => list.map((task) => task.id))).size, 1 + 50 * 31);
  const metrics = await gateway.send({ target: '/metrics', role: 'readonly' });
  assert.match(metrics.text, /gateway_limit_reached_total\{limit="page"\} [1-9]/u);
});

test('a stream of events passes on every event, also where all of them have more than 4 MiB', async (t) => {
  const type = 'net.example.long';
  await times(90, async (id) => {
    const event = { specversion: '1.0', id, source: 'https://tests.example.net', type, data: 'x'.repeat(60_000) };
    const headers = { authorization, 'content-type': 'application/cloudevents+json' };
    const reply = await gateway.send({ method: 'POST', target: '/events', headers, body: JSON.stringify(event) });
    assert.equal(reply.status, 204, reply.text);
  });
  const stream = await readStream(t, gateway, { as: authorization, target: '/events', after: '0' });
  const found = (): ReadonlySet<string> =>
    new Set(
      stream.events.filter((event) => event.type === type).map(({ data }) => (JSON.parse(data) as { readonly id: string }).id),
    );
  await until('all events', () => found().size === 90);
});

test('a request with too long a body is 413, and the metric of limits counts it', async () => {
  const headers = { 'Content-Type': 'application/cloudevents+json' };
  const reply = await gateway.send({ method: 'POST', target: '/events', role: 'admin', headers, body: 'x'.repeat(300_000) });
  assert.equal(reply.status, 413, reply.text);
  const metrics = await gateway.send({ method: 'GET', target: '/metrics', role: 'admin' });
  assert.match(metrics.text, /gateway_limit_reached_total\{limit="request-body"\} [1-9]/u);
});
