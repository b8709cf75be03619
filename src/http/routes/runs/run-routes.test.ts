import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { taskAt } from '#runs/journal/run-records.test-support.ts';
import { assertProblem, pointersOf } from '../../../../test/support/callers/calls.ts';
import { lastStep, type RunServer, runServer } from '../../../../test/support/runs/run-server.ts';
import { until } from '../../../../test/support/until.ts';

const runOf = (automation: string): string => `/automation_catalog/automations/${automation}/run`;

interface Page {
  readonly list: readonly { readonly id: string; readonly status: string }[];
  readonly cursor?: string;
}

async function listed({ send }: RunServer, as: Parameters<RunServer['send']>[0], query = ''): Promise<Page> {
  const reply = await send(as, { target: `/runs${query}` });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Page;
}

describe('starting a run', () => {
  test('a run has its address, its starter, and its input digit by digit', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const input = '{ "serial": 18446744073709551615, "ratio": 1.50, "b": "\\u00e9", "a": null }';
    const reply = await gateway.post('ada', runOf(automation), `{"input":${input}}`);
    assert.equal(reply.status, 201, reply.text);
    const run = reply.json() as Readonly<Record<string, unknown>>;
    assert.equal(reply.header('location'), `https://gateway.example.net/runs/${String(run['id'])}`);
    assert.match(reply.text, /"input":\{"serial":18446744073709551615,"ratio":1\.50,"b":"\\u00e9","a":null\}/u);
    const { id: _id, input: _input, createdAt, automationName, ...rest } = run;
    assert.match(String(automationName), /^automation /u);
    assert.ok(!Number.isNaN(Date.parse(String(createdAt))));
    assert.deepEqual(rest, {
      automation,
      workflow: 'lab.sync',
      version: '1.0.0',
      workflowDigest: 'd16e57',
      status: 'pending',
      startedBy: { principal: 'ada' },
      involved: [
        { principal: 'ada', as: ['starter'] },
        { principal: 'eve', as: ['author', 'workflow'] },
      ],
    });
    const read = await gateway.send('ada', { target: `/runs/${String(run['id'])}` });
    assert.equal(read.text, reply.text);
  });

  test('a run begins without a body, with an empty one, and with an object without members', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    for (const [body, headers] of [
      [undefined, {}],
      ['', { 'Content-Type': 'application/x-www-form-urlencoded' }],
      ['{}', {}],
    ] as const) {
      const reply = await gateway.post('ada', runOf(automation), body, headers);
      assert.equal(reply.status, 201, reply.text);
      assert.deepEqual((reply.json() as { readonly input: unknown }).input, {});
    }
  });

  test('a body that is no object with an object as input gets 400 with every problem', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const reply = await gateway.post('ada', runOf(automation), '{"input":[],"more":1}');
    assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/input', '/more']);
    assertProblem(await gateway.post('ada', runOf(automation), '{"input":{"wrong":1}}'), 400, 'invalid-request');
    const text = await gateway.post('ada', runOf(automation), '{}', { 'Content-Type': 'text/plain' });
    assertProblem(text, 415, 'unsupported-media-type');
  });

  test('a repeated Idempotency-Key gets the run that it started, and another input 422', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const key = { 'Idempotency-Key': 'one' };
    const first = await gateway.post('ada', runOf(automation), '{"input":{"a":1}}', key);
    assert.equal(first.header('idempotency-replayed'), undefined);
    const again = await gateway.post('ada', runOf(automation), '{"input": {"a": 1}}', key);
    assert.deepEqual([again.status, again.header('idempotency-replayed'), again.text], [201, 'true', first.text]);
    assertProblem(await gateway.post('ada', runOf(automation), '{"input":{"a":2}}', key), 422, 'idempotency-key-reused');
    const other = await gateway.post('eve', runOf(automation), '{"input":{"a":1}}', key);
    assert.equal(other.header('idempotency-replayed'), undefined);
    assert.equal((await listed(gateway, 'ada')).list.length, 2);
    assertProblem(await gateway.post('ada', runOf(automation), '{}', { 'Idempotency-Key': 'a b' }), 400, 'malformed-request');
  });

  test('a caller needs the right to run the automation, and the automation a workflow', async (t) => {
    const gateway = await runServer(t);
    const open = await gateway.automation();
    const guarded = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: ['noc'] } } });
    const shown = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: [] } } });
    const hidden = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: [], read: ['noc'] } } });
    const statuses = async (automation: string): Promise<Record<string, number>> => {
      const all: Record<string, number> = {};
      for (const as of ['ada', 'eve', 'otto', 'nora', 'zoe'] as const)
        all[as] = (await gateway.post(as, runOf(automation))).status;
      return all;
    };
    assert.deepEqual(await statuses(open), { ada: 201, eve: 201, otto: 403, nora: 404, zoe: 404 });
    assert.deepEqual(await statuses(guarded), { ada: 201, eve: 404, otto: 404, nora: 201, zoe: 404 });
    assert.deepEqual(await statuses(shown), { ada: 201, eve: 404, otto: 403, nora: 201, zoe: 404 });
    assert.deepEqual(await statuses(hidden), { ada: 201, eve: 404, otto: 404, nora: 404, zoe: 404 });
    assert.deepEqual(await statuses('none'), { ada: 404, eve: 404, otto: 404, nora: 404, zoe: 404 });
    assertProblem(await gateway.post('ada', runOf('a%00b')), 404, 'automation-not-found');
    const idle = await gateway.automation({ data: {} });
    assertProblem(await gateway.post('ada', runOf(idle)), 409, 'workflow-not-found');
  });

  test('the audit log has the run and its automation', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation({ name: 'Backup' });
    const id = await gateway.start(automation);
    await until('the request is on record', () => gateway.recorded.length === 1);
    const [facts] = gateway.recorded;
    assert.deepEqual(
      [facts?.run, facts?.automation, facts?.principal, facts?.route],
      [id, { _id: automation, name: 'Backup' }, 'ada', 'POST /automation_catalog/automations/:id/run'],
    );
  });
});

describe('reading runs', () => {
  test('runs are listed in pages, the newest first, without input and output', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.unshift(await gateway.start(automation, `{"at":${at}}`));
    const pages: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page += 1) {
      const { list, cursor: next } = await listed(gateway, 'ada', `?limit=2${cursor}`);
      assert.ok(list.every((run) => !('input' in run) && !('output' in run)));
      pages.push(...list.map(({ id }) => id));
      assert.equal(next === undefined, page === 2);
      cursor = `&cursor=${next}`;
    }
    assert.deepEqual(pages, ids);
  });

  test('a filter of the listing leaves out all other runs', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const other = await gateway.automation({ name: 'Other & more' });
    const first = await gateway.start(automation);
    const second = await gateway.start(other);
    await gateway.step(await gateway.claim(first), lastStep(first));
    await gateway.post('eve', runOf(other));
    const found = async (query: string): Promise<number> => (await listed(gateway, 'ada', query)).list.length;
    assert.deepEqual((await listed(gateway, 'ada', `?automation=${other}&principal=ada`)).list[0]?.id, second);
    assert.equal((await listed(gateway, 'ada', '?automation=Other%20%26%20more&principal=ada')).list[0]?.id, second);
    assert.equal(await found('?automation=other%20%26%20more'), 0);
    assert.equal(await found('?status=completed'), 1);
    assert.equal(await found('?workflow=lab.sync'), 3);
    assert.equal(await found('?workflow=lab.other'), 0);
    assert.equal(await found('?principal=eve'), 1);
    assert.equal(await found('?since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00Z'), 3);
    assert.equal(await found('?until=2020-01-01T00:00:00Z'), 0);
  });

  test('every parameter that is wrong is named', async (t) => {
    const gateway = await runServer(t);
    const query = 'status=done&since=now&until=1&limit=0&cursor=x&automation=&workflow=a%00&principal=a&principal=b&more=1';
    const reply = await gateway.send('ada', { target: `/runs?${query}` });
    const names = ['automation', 'cursor', 'limit', 'more', 'principal', 'since', 'status', 'until', 'workflow'];
    assert.deepEqual(
      pointersOf(assertProblem(reply, 400, 'invalid-request')),
      names.map((name) => `?${name}`),
    );
    const cursor = Buffer.from('[1,"a\\u0000"]').toString('base64url');
    assertProblem(await gateway.send('ada', { target: `/runs?cursor=${cursor}` }), 400, 'invalid-request');
  });

  test('a caller sees its own runs, and those of automations that it may see or run', async (t) => {
    const gateway = await runServer(t);
    const open = await gateway.start(await gateway.automation());
    const guarded = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: ['noc'] } } });
    const shown = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: [] } } });
    const runs = { open, guarded: await gateway.start(guarded), shown: await gateway.start(shown) };
    const seen = {
      ada: ['open', 'guarded', 'shown'],
      eve: ['open'],
      otto: ['open', 'shown'],
      nora: ['guarded', 'shown'],
      zoe: [],
    } as const;
    for (const [as, names] of Object.entries(seen) as [keyof typeof seen, readonly (keyof typeof runs)[]][]) {
      const { list } = await listed(gateway, as);
      assert.deepEqual(list.map(({ id }) => id).sort(), names.map((name) => runs[name]).sort(), as);
      for (const [name, id] of Object.entries(runs)) {
        const isSeen = names.some((one) => one === name);
        for (const target of [`/runs/${id}`, `/runs/${id}/tasks`]) {
          const reply = await gateway.send(as, { target });
          if (isSeen) assert.equal(reply.status, 200, reply.text);
          else assertProblem(reply, 404, 'run-not-found');
        }
      }
    }
    assertProblem(await gateway.send('ada', { target: '/runs/a%00b' }), 404, 'run-not-found');
  });

  test('a listing goes on behind runs that its caller may not see', async (t) => {
    const gateway = await runServer(t);
    const shown = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: [] } } });
    const open = await gateway.automation();
    const wanted = [await gateway.start(open)];
    for (let at = 0; at < 12; at += 1) await gateway.start(shown);
    wanted.unshift(await gateway.start(open));
    const found: string[] = [];
    let query = '?limit=1';
    for (let pages = 0; pages < 20; pages += 1) {
      const { list, cursor } = await listed(gateway, 'eve', query);
      found.push(...list.map(({ id }) => id));
      if (cursor === undefined) break;
      query = `?limit=1&cursor=${cursor}`;
    }
    assert.deepEqual(found, wanted);
  });

  test('the tasks of a run are listed in pages, with their errors and times', async (t) => {
    const gateway = await runServer(t);
    const id = await gateway.start(await gateway.automation());
    const task = (activity: number): ReturnType<typeof taskAt> => ({
      activity,
      reference: `/do/${activity}/call`,
      name: 'call',
      iteration: activity === 2 ? 7 : undefined,
      attempt: 1,
      status: activity === 3 ? 'faulted' : 'running',
      begin: activity,
      end: activity === 3 ? 9 : undefined,
      requestId: 'abc',
      error: activity === 3 ? { type: 'urn:a', status: 500, instance: '/do/3/call' } : undefined,
    });
    await gateway.step(await gateway.claim(id), { tasks: [1, 2, 3].map(task) });
    const page = async (query: string) =>
      (await gateway.send('ada', { target: `/runs/${id}/tasks${query}` })).json() as { list: object[]; cursor?: string };
    const first = await page('?limit=2');
    assert.deepEqual(first.list[1], {
      id: '2',
      reference: '/do/2/call',
      name: 'call',
      iteration: 7,
      attempt: 1,
      status: 'running',
      begin: '1970-01-01T00:00:00.002Z',
      requestId: 'abc',
      noData: 'removed',
    });
    const second = await page(`?limit=2&cursor=${first.cursor}`);
    assert.equal(second.cursor, undefined);
    assert.deepEqual(
      second.list
        .map((one) => one as { id: string; end: string; error: object })
        .map(({ id: number, end, error }) => [number, end, error]),
      [['3', '1970-01-01T00:00:00.009Z', { type: 'urn:a', status: 500, instance: '/do/3/call' }]],
    );
    assertProblem(await gateway.send('ada', { target: `/runs/${id}/tasks?cursor=x&limit=-1` }), 400, 'invalid-request');
  });

  test('a run that has ended has its exact output, or its error', async (t) => {
    const gateway = await runServer(t);
    const automation = await gateway.automation();
    const [done, failed] = [await gateway.start(automation), await gateway.start(automation)];
    const claimed = await gateway.store.claim({ owner: 'engine', limit: 2, lease: 600_000 });
    for (const run of claimed) {
      const error = { type: 'urn:a', status: 500, title: 'A', instance: '/do/0/a' };
      const result = run.id === done ? { output: '{"n":1.0}' } : { output: undefined, status: 'faulted' as const, error };
      await gateway.step(run, lastStep(run.id, result));
    }
    assert.match((await gateway.send('ada', { target: `/runs/${done}` })).text, /"output":\{"n":1\.0\}/u);
    const { error, status } = (await gateway.send('ada', { target: `/runs/${failed}` })).json() as Record<string, unknown>;
    assert.deepEqual([status, error], ['faulted', { type: 'urn:a', status: 500, title: 'A', instance: '/do/0/a' }]);
  });
});

describe('changing a run', () => {
  test('a change is a command that the run takes, and 409 after the end of the run', async (t) => {
    const gateway = await runServer(t);
    const id = await gateway.start(await gateway.automation());
    const run = await gateway.claim(id);
    const taken = async (kind: string): Promise<number> => {
      await until(`${kind} is queued`, async () => (await gateway.store.commandsOf([id])).length === 1);
      const [command] = await gateway.store.commandsOf([id]);
      assert.equal(command?.command.kind, kind);
      return command.number;
    };
    const suspended = gateway.post('ada', `/runs/${id}/suspend`);
    await gateway.step(run, { status: 'suspended', consumed: [await taken('suspend')] });
    assert.equal(((await suspended).json() as { readonly status: string }).status, 'suspended');
    const resumed = gateway.post('ada', `/runs/${id}/resume`);
    await gateway.step(run, { status: 'running', consumed: [await taken('resume')] });
    assert.equal(((await resumed).json() as { readonly status: string }).status, 'running');
    assertProblem(await gateway.post('ada', `/runs/${id}/resume`), 409, 'run-conflict');
    const cancelled = gateway.post('ada', `/runs/${id}/cancel`);
    await gateway.step(run, lastStep(id, { status: 'cancelled', output: undefined, consumed: [await taken('cancel')] }));
    const reply = await cancelled;
    assert.deepEqual([reply.status, (reply.json() as { readonly status: string }).status], [200, 'cancelled']);
    for (const change of ['cancel', 'suspend', 'resume'])
      assertProblem(await gateway.post('ada', `/runs/${id}/${change}`), 409, 'run-conflict');
    await until('all are on record', () => gateway.recorded.filter(({ route }) => route?.includes('/runs/')).length === 7);
    assert.deepEqual(
      gateway.recorded.filter(({ run: of }) => of === id).map(({ status }) => status),
      [201, 200, 200, 200],
    );
  });

  test('a run can be changed by those alone who may run its automation', async (t) => {
    const gateway = await runServer(t);
    const shown = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: [] } } });
    const id = await gateway.start(shown);
    for (const change of ['cancel', 'suspend', 'resume', 'rerun']) {
      assertProblem(await gateway.post('otto', `/runs/${id}/${change}`), 403, 'forbidden');
      assertProblem(await gateway.post('eve', `/runs/${id}/${change}`), 404, 'run-not-found');
      assertProblem(await gateway.post('zoe', `/runs/${id}/${change}`), 404, 'run-not-found');
    }
    const again = await gateway.post('nora', `/runs/${id}/rerun`);
    assert.equal(again.status, 201, again.text);
    assert.deepEqual((again.json() as { readonly startedBy: object }).startedBy, { principal: 'nora' });
  });

  test('a rerun has the input of its run, and one run for an Idempotency-Key', async (t) => {
    const gateway = await runServer(t);
    const id = await gateway.start(await gateway.automation(), '{"n":1.0}');
    const key = { 'Idempotency-Key': 'again' };
    const first = await gateway.post('ada', `/runs/${id}/rerun`, undefined, key);
    assert.equal(first.status, 201);
    assert.match(first.text, /"input":\{"n":1\.0\}/u);
    const again = await gateway.post('ada', `/runs/${id}/rerun`, undefined, key);
    assert.deepEqual([again.header('idempotency-replayed'), again.text], ['true', first.text]);
    assert.equal((await listed(gateway, 'ada')).list.length, 2);
  });

  test('a decision has task, as and reason, output with done alone, and needs the role admin', async (t) => {
    const gateway = await runServer(t);
    const id = await gateway.start(await gateway.automation());
    const target = `/runs/${id}/resume`;
    const reply = await gateway.post('ada', target, '{"as":"again","output":1}');
    assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/output', '/reason', '/task']);
    assertProblem(await gateway.post('ada', target, '{"task":"","as":"never","reason":"","x":1}'), 400, 'invalid-request');
    const decision = '{"task":"1","as":"done","output":[1.0],"reason":"seen"}';
    assertProblem(await gateway.post('eve', target, decision), 403, 'forbidden');
    assertProblem(await gateway.post('ada', target, decision), 409, 'run-conflict');
  });
});
