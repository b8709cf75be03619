import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { type CliRun, runCommandLine } from '../../test/support/gateway/run-command-line.ts';
import { closedPort } from '../../test/support/upstreams/upstream.ts';

const id = '019ab2c4-5f60-7d31-8a52-6c1f0e9b7d24';
const automation = { _id: '65f0c2a1b4d3e2f1a0b9c8d7', name: 'Check \u001b[31mred' };
const run = {
  id,
  automation: automation._id,
  workflow: 'lab.sync',
  version: '1.0.0',
  status: 'completed',
  startedBy: { principal: 'ann' },
  createdAt: '2026-03-01T22:00:00.000Z',
  startedAt: '2026-03-01T22:00:00.010Z',
  endedAt: '2026-03-01T22:01:05.010Z',
};

interface FakeGateway {
  readonly url: string;
  readonly requests: readonly (Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string })[];
}

type Answer = (request: FakeGateway['requests'][number], response: ServerResponse) => unknown;

/** A gateway of which a test answers what it wants; every other route answers as a small catalogue does. */
async function fakeGateway(t: TestContext, answers: Readonly<Record<string, Answer>> = {}): Promise<FakeGateway> {
  const requests: FakeGateway['requests'][number][] = [];
  const usual: Readonly<Record<string, Answer>> = {
    'GET /automation_catalog/automations': () => ({ list: [automation], total: 1 }),
    [`GET /automation_catalog/automations/${automation._id}`]: () => automation,
    [`POST /automation_catalog/automations/${automation._id}/run`]: () => ({ ...run, status: 'pending' }),
    [`GET /runs/${id}`]: () => run,
  };
  const server = createServer((request, response) => void served(request, response));
  const served = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const { method, url, headers } = request;
    const kept = { method, url, headers, body: Buffer.concat(parts).toString('utf8') };
    requests.push(kept);
    const route = `${method} ${url?.split('?')[0]}`;
    const answer = answers[route] ?? usual[route];
    const value = answer?.(kept, response) ?? problem(response, 404, 'automation-not-found', 'There is none.');
    if (!response.headersSent) response.setHeader('Content-Type', 'application/json');
    if (value !== undefined && value !== response) response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function problem(response: ServerResponse, status: number, code: string, detail: string, errors?: readonly object[]): object {
  response.statusCode = status;
  return { status, code, detail, errors };
}

function event(of: string, kind: string, at: string, data: object = {}): string {
  return JSON.stringify({ type: `io.serverlessworkflow.${of}.${kind}.v1`, time: `2026-03-01T22:00:${at}Z`, data });
}

function frames(...events: readonly string[]): string {
  return events.map((data, index) => `id: ${index + 1}\ndata: ${data}\n\n`).join('');
}

const login = { GATEWAY_USER: 'ann', GATEWAY_PASSWORD: 'pass' };

function said(t: TestContext, { url }: { readonly url: string }, argv: readonly string[], given: object = {}): Promise<CliRun> {
  return runCommandLine(t, argv, { env: { ...login, GATEWAY_URL: url }, ...given });
}

test('run --follow prints each task that ended and the output, without control characters of upstreams', async (t) => {
  const error = { type: 'https://example.net/errors/broken', status: 502, detail: '\u001b]0;title\u0007\u202eevil\n' };
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}/events`]: (_request, response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      return `:\n\n${frames(
        event('workflow', 'started', '00.010'),
        event('task', 'created', '00.015', { task: '/do/0/all', id: '1' }),
        event('task', 'started', '00.020', { task: '/do/0/all', id: '1' }),
        event('task', 'started', '00.030', { task: '/do/0/all/do/0/a~1b', id: '2', iteration: 3, attempt: 2 }),
        event('task', 'faulted', '01.530', { task: '/do/0/all/do/0/a~1b', id: '2', iteration: 3, attempt: 2, error }),
        JSON.stringify({ type: 'net.example.told.v1', data: { anything: 1 } }),
        event('task', 'completed', '02.020', { task: '/do/0/all', id: '1', attempt: 1 }),
        event('workflow', 'completed', '02.030'),
      )}`;
    },
    [`GET /runs/${id}`]: () =>
      JSON.stringify({ ...run, output: 'N' }).replace('"N"', '{"serial":18446744073709551615,"text":"\\u001b[2J"}'),
  });
  const { code, out, err } = await said(t, gateway, ['run', automation.name, '--follow']);
  assert.deepEqual([code, err], [0, '']);
  assert.equal(
    out,
    [
      `run ${id} of "Check \\u001b[31mred": lab.sync 1.0.0`,
      '    1.520 s  faulted    all/a/b[3] (attempt 2)  1.5 s  broken (502): \\u001b]0;title\\u0007\\u202eevil\\u000a',
      '    2.010 s  completed  all  2.0 s',
      'completed after 1 min 5 s',
      '{',
      '  "serial": 18446744073709551615,',
      '  "text": "\\u001b[2J"',
      '}',
      '',
    ].join('\n'),
  );
  const start = gateway.requests.find(({ method }) => method === 'POST');
  assert.equal(start?.body, '{}');
  assert.equal(start?.headers.authorization, `Basic ${Buffer.from('ann:pass').toString('base64')}`);
});

test('run --follow names the tasks under way on a terminal: those that started, not skipped ones, nor those that contain others', async (t) => {
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}/events`]: (_request, response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      return frames(
        event('task', 'started', '00.000', { task: '/do/0/all', id: '1' }),
        event('task', 'created', '00.010', { task: '/do/0/all/do/0/skipped', id: '2' }),
        event('task', 'started', '00.020', { task: '/do/0/all/do/1/push', id: '3', iteration: 0 }),
        event('workflow', 'completed', '02.030'),
      );
    },
  });
  const { err } = await said(t, gateway, ['run', automation._id, '--follow'], { progressColumns: 60, outputColumns: 60 });
  // Each text comes after the erased one before it.
  const shown = err.split('\r\u001b[2K').filter((text) => text !== '');
  assert.deepEqual(
    shown.filter((text, at) => text !== shown[at - 1]),
    ['under way: all', 'under way: all/push[0]'],
  );
});

test('run --follow goes on after the last event when the stream breaks off and the gateway is away', async (t) => {
  let opened = 0;
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}/events`]: (_request, response) => {
      opened += 1;
      if (opened === 2) {
        response.setHeader('Retry-After', '0');
        return problem(response, 503, 'store-unavailable', 'The store is away.');
      }
      response.setHeader('Content-Type', 'text/event-stream');
      if (opened === 3) return `id: 9\ndata: ${event('workflow', 'completed', '03.000')}\n\n`;
      response.write(`id: 8\ndata: ${event('task', 'completed', '01.000', { task: '/do/0/a', id: '1' })}\n\n`);
      setImmediate(() => setImmediate(() => response.destroy()));
      return response;
    },
  });
  const { code, out, err } = await said(t, gateway, ['run', automation._id, '--follow']);
  assert.equal(code, 0, err);
  assert.equal(out.match(/completed {2}a/gu)?.length, 1, out);
  // One line for the whole time that the gateway was away.
  assert.match(err, /^orchestration-gateway run: the gateway at \S+ broke the connection off\. The run goes on, [^\n]*\n$/u);
  const ids = gateway.requests.filter(({ url }) => url?.endsWith('/events')).map(({ headers }) => headers['last-event-id']);
  assert.deepEqual(ids, [undefined, '8', '8']);
});

test('the exit code of run --follow says how the run ended', async (t) => {
  for (const [status, code] of [
    ['completed', 0],
    ['faulted', 1],
    ['cancelled', 1],
    ['suspended', 3],
  ] as const) {
    const error = { type: 'https://example.net/errors/broken', status: 502, title: 'Broken' };
    const gateway = await fakeGateway(t, {
      [`GET /runs/${id}/events`]: (_request, response) => {
        response.setHeader('Content-Type', 'text/event-stream');
        response.write(frames(event('workflow', status, '03.000')));
        // A suspended run keeps its stream open.
        return status === 'suspended' ? response : '';
      },
      [`GET /runs/${id}`]: () => ({ ...run, status, ...(status === 'faulted' && { error }) }),
    });
    const ended = await said(t, gateway, ['run', automation._id, '--follow']);
    assert.equal(ended.code, code, ended.err);
    assert.match(ended.out, new RegExp(`^${status}`, 'mu'));
    if (status === 'faulted') assert.match(ended.out, /^broken \(502\): Broken$/mu);
    if (status === 'suspended') assert.match(ended.err, /waits for people.* runs show /u);
  }
});

test('an interruption ends run --follow, and says that the run goes on', async (t) => {
  const interruption = new AbortController();
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}/events`]: (_request, response) => {
      response.write(':\n\n');
      setImmediate(() => interruption.abort());
      return response;
    },
  });
  const untilInterrupted = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => work(interruption.signal);
  const { code, err } = await said(t, gateway, ['run', automation._id, '--follow'], { untilInterrupted });
  assert.equal(code, 1);
  assert.match(err, /interrupted\. The run goes on; see it: npx orchestration-gateway runs show 019ab2c4/u);
});

test('run takes its input from YAML or JSON with all digits, and prints the id alone', async (t) => {
  const gateway = await fakeGateway(t);
  const files = { 'in.yaml': 'vpn: acme\nserial: 18446744073709551615\nlist: [a, 1.10]\n', 'in.json': '{"n":1e400}' };
  const fromFile = await said(t, gateway, ['run', automation._id, '--input', 'in.yaml'], { files });
  assert.deepEqual([fromFile.code, fromFile.out], [0, `${id}\n`]);
  await said(t, gateway, ['run', automation._id, '--input', 'in.json'], { files });
  const stdin = Readable.from([Buffer.from('{"text":"'), Buffer.from('ü"}')]);
  await said(t, gateway, ['run', automation._id, '--input', '-'], { stdin });
  assert.deepEqual(
    gateway.requests.filter(({ method }) => method === 'POST').map(({ body }) => body),
    [
      '{"input":{"vpn":"acme","serial":18446744073709551615,"list":["a",1.10]}}',
      '{"input":{"n":1e400}}',
      '{"input":{"text":"ü"}}',
    ],
  );
});

test('run refuses an input that is none before it asks the gateway', async (t) => {
  const gateway = await fakeGateway(t);
  for (const [text, why] of [
    ['a: [\n', /in\.yaml:2:1: is not valid YAML/u],
    ['- 1\n', /in\.yaml has no object/u],
    ['a: 1\na: 2\n', /in\.yaml:2:1: \/a is given twice/u],
    ['', /in\.yaml has no object/u],
  ] as const) {
    const { code, err } = await said(t, gateway, ['run', 'x', '--input', 'in.yaml'], { files: { 'in.yaml': text } });
    assert.equal(code, 1);
    assert.match(err, why);
  }
  const absent = await said(t, gateway, ['run', 'x', '--input', 'none.yaml']);
  assert.match(absent.err, /none\.yaml does not exist/u);
  assert.equal(gateway.requests.length, 0);
});

test('run starts one run when the connection breaks off: it repeats its idempotency key', async (t) => {
  let attempts = 0;
  const gateway = await fakeGateway(t, {
    [`POST /automation_catalog/automations/${automation._id}/run`]: (_request, response) => {
      attempts += 1;
      if (attempts > 1) return run;
      response.destroy();
      return response;
    },
  });
  const { code, out } = await said(t, gateway, ['run', automation._id]);
  assert.deepEqual([code, out], [0, `${id}\n`]);
  const keys = gateway.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test('an unknown automation is answered with the nearest names', async (t) => {
  const gateway = await fakeGateway(t, {
    'GET /automation_catalog/automations': (request) =>
      request.url?.includes('equals') === true
        ? { list: [], total: 0 }
        : {
            list: [
              { _id: '1', name: 'Nightly check' },
              { _id: '2', name: 'Backup of core' },
            ],
            total: 2,
          },
  });
  for (const [name, end] of [
    ['nightly chekc', '; did you mean "Nightly check"?'],
    ['core', '; did you mean "Backup of core"?'],
    ['zzz', '; there are: "Nightly check", "Backup of core"'],
  ] as const) {
    const { code, err } = await said(t, gateway, ['run', name]);
    assert.equal(code, 1);
    assert.equal(err, `orchestration-gateway run: there is no automation ${JSON.stringify(name)} that you may see${end}\n`);
  }
});

test('a role that may not list names an automation by its _id', async (t) => {
  const gateway = await fakeGateway(t, {
    'GET /automation_catalog/automations': (_request, response) => problem(response, 403, 'forbidden', 'No.'),
  });
  assert.equal((await said(t, gateway, ['run', automation._id])).code, 0);
  const { code, err } = await said(t, gateway, ['run', 'Nightly']);
  assert.equal(code, 1);
  assert.match(err, /no automation has the _id "Nightly"\. Your role may not list automations/u);
});

test('a refusal has the words of the gateway, and a missing or wrong login the words of the command', async (t) => {
  const refuse = (status: number, code: string, detail: string, errors?: readonly object[]): Promise<FakeGateway> =>
    fakeGateway(t, { 'GET /runs': (_request, response) => problem(response, status, code, detail, errors) });
  const denied = await refuse(401, 'unauthenticated', 'Authenticate.');
  const wrong = await said(t, denied, ['runs', 'list']);
  assert.match(wrong.err, /does not accept the login of the user ann: check the user name and GATEWAY_PASSWORD\n$/u);
  const without = await runCommandLine(t, ['runs', 'list', '--url', denied.url]);
  assert.match(without.err, /the gateway needs a login: set GATEWAY_USER and GATEWAY_PASSWORD, or GATEWAY_TOKEN\n$/u);
  const token = await runCommandLine(t, ['runs', 'list', '--url', denied.url], { env: { GATEWAY_TOKEN: 'abc' } });
  assert.match(token.err, /check GATEWAY_TOKEN, which may have expired/u);
  assert.equal(denied.requests.at(-1)?.headers.authorization, 'Bearer abc');
  const forbidden = await said(t, await refuse(403, 'forbidden', 'Not with \u001b[1m this role.'), ['runs', 'list']);
  assert.match(forbidden.err, /the user ann may not do this: Not with \\u001b\[1m this role\.\n$/u);
  const bad = await said(t, await refuse(400, 'invalid-request', 'x', [{ pointer: '?status', detail: 'is no status' }]), [
    'runs',
    'list',
  ]);
  assert.equal(bad.err, 'orchestration-gateway runs list: --status is no status\n');
  const page = await fakeGateway(t, { 'GET /runs': (_request, response) => ((response.statusCode = 404), '<html>') });
  assert.match((await said(t, page, ['runs', 'list'])).err, /answers 404, and not as a gateway does/u);
});

test('a gateway that does not run is named with its address and the cause', async (t) => {
  const port = await closedPort();
  const { code, out, err } = await said(t, { url: `http://127.0.0.1:${port}` }, ['runs', 'list']);
  assert.deepEqual([code, out], [1, '']);
  assert.match(
    err,
    /^orchestration-gateway runs list: no gateway answers at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*--url or GATEWAY_URL\.\n$/u,
  );
  const blocked = await said(t, { url: 'http://127.0.0.1:1' }, ['runs', 'list']);
  assert.match(blocked.err, /no program that follows the Fetch standard connects to the port of http:\/\/127\.0\.0\.1:1\. /u);
});

test('a wrong address or an unusable login is wrong usage, and no request is sent', async (t) => {
  for (const [env, argv, why] of [
    [login, ['--url', 'ftp://x'], /no http or https address/u],
    [login, ['--url', 'http://ann:secret@x'], /has credentials/u],
    [login, ['--url', 'http://x/?a'], /has a query/u],
    [{ ...login, GATEWAY_TOKEN: 'x' }, [], /are both set/u],
    [{ GATEWAY_USER: 'ann' }, [], /there is no password/u],
    [{ GATEWAY_TOKEN: 'two words' }, [], /is no token/u],
    [login, ['--user', 'a:b'], /has no colon/u],
    [login, ['--limit', '0'], /--limit is neither/u],
  ] as const) {
    const { code, out, err } = await runCommandLine(t, ['runs', 'list', ...argv], {
      env: { GATEWAY_URL: 'http://127.0.0.1:1', ...env },
    });
    assert.deepEqual([code, out], [2, ''], err);
    assert.match(err, why);
    assert.doesNotMatch(err, /secret/u);
  }
});

test('runs list follows the pages up to its limit: NDJSON, or a table as wide as the terminal', async (t) => {
  const gateway = await fakeGateway(t, {
    'GET /runs': (request) =>
      request.url?.includes('cursor') === true ? { list: [{ ...run, workflow: '\u001b[0mx' }] } : { list: [run], cursor: 'next' },
  });
  const piped = await said(t, gateway, [
    'runs',
    'list',
    '--status',
    'completed',
    '--automation',
    automation.name,
    '--limit',
    '2',
  ]);
  assert.deepEqual(
    piped.out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly id: string }).id),
    [id, id],
  );
  const pages = gateway.requests.filter(({ url }) => url?.startsWith('/runs?') === true).map(({ url }) => url);
  assert.deepEqual(pages, [
    `/runs?status=completed&automation=${automation._id}&limit=2`,
    `/runs?status=completed&automation=${automation._id}&limit=2&cursor=next`,
  ]);
  const wide = await said(t, gateway, ['runs', 'list'], { printsToTerminal: true, outputColumns: 140 });
  assert.deepEqual(wide.out.split('\n'), [
    'RUN                                   STATUS     CREATED               TOOK       STARTED BY  WORKFLOW',
    `${id}  completed  2026-03-01T22:00:00Z  1 min 5 s  ann         lab.sync 1.0.0`,
    `${id}  completed  2026-03-01T22:00:00Z  1 min 5 s  ann         \\u001b[0mx 1.0.0`,
    '',
  ]);
  const narrow = await said(t, gateway, ['runs', 'list'], { printsToTerminal: true, outputColumns: 50 });
  assert.equal(narrow.out.split('\n')[1], `${id}  completed`);
});

test('runs show prints the run, its tasks and what people have to decide', async (t) => {
  const unknown = { type: 'urn:orchestration-gateway:errors:outcome-unknown', status: 504, detail: 'It left.' };
  const tasks = [
    {
      id: '1',
      reference: '/do/0/push',
      name: 'push',
      attempt: 1,
      status: 'suspended',
      begin: '2026-03-01T22:00:00.110Z',
      decisions: [{ as: 'again', principal: 'bob', at: '2026-03-01T22:04:00.000Z', reason: 'nothing\u0007 there' }],
      error: unknown,
    },
  ];
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}`]: () => ({ ...run, status: 'suspended', endedAt: undefined, input: { device: 'ce0\u0007' } }),
    [`GET /runs/${id}/tasks`]: () => ({ list: tasks }),
  });
  const { out } = await said(t, gateway, ['runs', 'show', id]);
  assert.deepEqual(out.split('\n'), [
    `run         ${id}`,
    'status      suspended',
    'workflow    lab.sync 1.0.0',
    `automation  ${automation._id}`,
    'started     2026-03-01T22:00:00.010Z by ann',
    'input       {"device":"ce0\\u0007"}',
    '',
    'ID  BEGIN    STATUS     TASK  ERROR',
    '1   0.100 s  suspended  push  outcome-unknown (504): It left.',
    '',
    '2026-03-01T22:04:00.000Z bob: again 1 (push): nothing\\u0007 there',
    '',
    'It is unknown whether these calls happened. Find out, and decide: done, failed or again.',
    `  npx orchestration-gateway runs decide ${id} --task 1 --as done --reason '…'  (push)`,
    '',
  ]);
  const json = await said(t, gateway, ['runs', 'show', id, '--json']);
  assert.deepEqual((JSON.parse(json.out) as { readonly tasks: unknown }).tasks, tasks);
});

test('runs cancel prints the state of the run, and fails as long as the run is not cancelled', async (t) => {
  for (const [status, code] of [
    ['cancelled', 0],
    ['running', 1],
  ] as const) {
    const gateway = await fakeGateway(t, { [`POST /runs/${id}/cancel`]: () => ({ ...run, status }) });
    const cancelled = await said(t, gateway, ['runs', 'cancel', id]);
    assert.deepEqual([cancelled.code, cancelled.out], [code, `${status}\n`]);
  }
});

test('run --follow names each approval that the run waits for once, with its link', async (t) => {
  const end = Promise.withResolvers<void>();
  let looks = 0;
  const gateway = await fakeGateway(t, {
    [`GET /runs/${id}/events`]: (_request, response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      response.write(`:\n\n${frames(event('workflow', 'started', '00.010'))}`);
      void end.promise.then(() => response.end(`id: 2\ndata: ${event('workflow', 'completed', '09.000')}\n\n`));
      return response;
    },
    'GET /approvals': ({ url }) => {
      looks += 1;
      if (looks === 3) end.resolve();
      return url?.includes(`run=${id}`) === true && url.includes('status=waiting')
        ? { list: [{ id: 'a1' }, ...(looks > 1 ? [{ id: 'a\u001b2' }] : [])] }
        : { list: [] };
    },
  });
  const { code, out, err } = await said(t, gateway, ['run', automation.name, '--follow'], { outputColumns: 40 });
  assert.deepEqual([code, err], [0, '']);
  const told = out.split('\n').filter((line) => line.startsWith('waiting for approval'));
  assert.deepEqual(told, [
    `waiting for approval a1: ${gateway.url}/console/approvals/a1`,
    `waiting for approval a\\u001b2: ${gateway.url}/console/approvals/a%1B2`,
  ]);
});

test('a command prints the only problem of a reply where its words do not have it', async (t) => {
  const gateway = await fakeGateway(t, {
    [`POST /automation_catalog/automations/${automation._id}/run`]: (_request, response) =>
      problem(response, 403, 'forbidden', 'You may not make all of these calls.', [
        { pointer: '/do/0/act', detail: 'orchestratorAction is missing' },
      ]),
  });
  const { code, err } = await said(t, gateway, ['run', automation.name]);
  assert.equal(code, 1);
  assert.match(err, /may not make all of these calls\.\n {2}\/do\/0\/act: orchestratorAction is missing\n$/u);
});
