import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { type Gateway as Client, createGateway, GatewayError } from '../client/src/gateway.ts';
import { startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { listen } from './support/listen.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The client package against a running gateway (client/README.md), and against upstreams that break off.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    config: {
      access: { clients: [{ clientId: 'näme', secretHash: testPasswordHash, roles: ['apiread'], groups: [] }] },
      outbound: { allow: [far.authority] },
    },
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  },
);

function clientOf(role: string, baseUrl = gateway.url): Client {
  return createGateway({ baseUrl, username: `${role}-user`, password: testPassword });
}

const admin = clientOf('admin');

const slowWorkflow = `
document: { dsl: '1.0.3', namespace: client, name: waits, version: '1.0.0' }
do:
  - first: { set: { serial: 18446744073709551615 } }
  - pause: { wait: { milliseconds: 300 } }
  - last: { set: { serial: 18446744073709551615 } }
`;

async function storedAutomation(name: string): Promise<string> {
  await admin.createWorkflow({ rawBody: slowWorkflow, contentType: 'application/yaml' }).catch(() => {});
  return (await admin.createAutomation({ body: { name, data: { workflowId: 'client.waits' } } })).value._id;
}

/** The failure of a call. */
async function failure(call: Promise<unknown>): Promise<GatewayError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

/** A proxy in front of the gateway whose connections `cut` destroys. */
async function cuttable(t: TestContext): Promise<{ readonly url: string; readonly cut: () => void }> {
  const proxy = createServer((caller) => {
    const beyond = connect(gateway.port, '127.0.0.1').on('error', () => {});
    caller.pipe(beyond).pipe(caller);
  });
  const { port, open } = await listen(t, proxy);
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return { url: `http://127.0.0.1:${port}`, cut };
}

describe('credentials', () => {
  test('are a user, a client or a token, or there are none', async () => {
    assert.deepEqual((await clientOf('readonly').whoami()).value.roles, ['readonly']);
    const client = createGateway({ baseUrl: `${gateway.url}/`, clientId: 'näme', clientSecret: testPassword });
    assert.equal((await client.whoami()).value.username, 'näme');
    const token = (
      await createGateway({ baseUrl: gateway.url }).login({ body: { username: 'other-user', password: testPassword } })
    ).value.token;
    assert.equal((await createGateway({ baseUrl: gateway.url, token }).whoami()).value.username, 'other-user');
    assert.equal((await failure(createGateway({ baseUrl: gateway.url }).whoami())).code, 'unauthenticated');
  });

  test('that the token endpoint refuses are an error of the same class', async () => {
    const error = await failure(createGateway({ baseUrl: gateway.url, clientId: 'no', clientSecret: 'no' }).whoami());
    assert.deepEqual([error.code, error.status], ['unauthenticated', 401]);
  });

  test('of a client are one token for many calls; a read is sent again when it has expired, and a change is not', async (t) => {
    const expiring = await upstream(t);
    let issued = 0;
    expiring.answer((request) => {
      if (request.target === '/oauth/token')
        return jsonReply(`{"access_token":"${(issued += 1)}","token_type":"Bearer","expires_in":3600}`);
      if (request.header('authorization') !== 'Bearer 1') return jsonReply('{"list":[],"total":0}');
      return jsonReply('{"code":"unauthenticated","detail":"x"}', { status: 401 });
    });
    const client = createGateway({ baseUrl: expiring.url, clientId: 'a', clientSecret: 'b' });
    await Promise.all([client.listRuns(), client.listRuns()]);
    await client.listRuns();
    assert.deepEqual([issued, expiring.requests.filter(({ target }) => target === '/runs').length], [2, 5]);
    issued = 0;
    const other = createGateway({ baseUrl: expiring.url, clientId: 'a', clientSecret: 'b' });
    assert.equal((await failure(other.cancelRun({ path: { id: 'x' } }))).code, 'unauthenticated');
    assert.equal(expiring.requests.filter(({ target }) => target === '/runs/x/cancel').length, 1);
  });
});

describe('a call', () => {
  test('sends and gets every digit of a number: rawBody, and text next to the value', async () => {
    far.answer(() => jsonReply('{"serial":18446744073709551615,"one":1.0}'));
    const body = '{"params":{"path":"do/it","accept":"application/json"},"body":{"n":18446744073709551615,"n":1.0}}';
    const { text, value, status } = await admin.restAction({ path: { adapterId: 'Local NSO' }, rawBody: body });
    assert.equal(far.request.body.toString(), '{"n":18446744073709551615,"n":1.0}');
    assert.deepEqual([status, value], [200, [{ result: '{"serial":18446744073709551615,"one":1.0}' }]]);
    assert.equal(text, '[{"result":"{\\"serial\\":18446744073709551615,\\"one\\":1.0}"}]');
  });

  test('with an idempotency key is done once', async () => {
    far.answer(() => jsonReply('{}'));
    const call = {
      path: { adapterId: 'Local NSO' },
      body: { params: { path: 'do/it', accept: 'application/json' }, body: { a: 1 } },
      idempotencyKey: 'client-1',
    };
    const replies = [await admin.restAction(call), await admin.restAction(call)];
    assert.deepEqual(
      replies.map(({ headers }) => headers.get('idempotency-replayed')),
      [null, 'true'],
    );
    assert.equal(far.requests.length, 1);
  });

  test('has the headers that its options name', async (t) => {
    const fake = await upstream(t);
    fake.answer(() => jsonReply('{}'));
    const client = createGateway({ baseUrl: `${fake.url}/behind/a/proxy/`, token: 'x', headers: { 'User-Agent': 'mine/1' } });
    await client.restAction({ path: { adapterId: 'a/ü?' }, rawBody: '{}', approval: 'app-1', headers: { 'X-Reason': 'why' } });
    const { request } = fake;
    assert.equal(request.target, '/behind/a/proxy/orchestrator_manager/restAction/a%2F%C3%BC%3F');
    assert.deepEqual(
      ['approval', 'x-reason', 'user-agent', 'authorization', 'content-type'].map((name) => request.header(name)),
      ['app-1', 'why', 'mine/1', 'Bearer x', 'application/json'],
    );
  });

  test('that the gateway refuses rejects with the code of its table, its words and the whole problem', async () => {
    const error = await failure(admin.readRun({ path: { id: 'none' } }));
    assert.deepEqual([error.code, error.status, error.isTemporary], ['run-not-found', 404, false]);
    assert.equal(error.problem?.detail, error.message);
    const bad = await failure(admin.createAutomation({ body: { name: '' } }));
    assert.deepEqual([bad.code, bad.problem?.errors?.[0]?.pointer], ['invalid-request', '/name']);
  });

  test('to no gateway, or to a server that is none, rejects with a code of the client', async (t) => {
    const port = await closedPort();
    const unreached = await failure(clientOf('admin', `http://127.0.0.1:${port}`).whoami());
    assert.deepEqual([unreached.code, unreached.status, unreached.isTemporary], ['no-reply', undefined, true]);
    assert.match(unreached.message, /ECONNREFUSED/u);
    const other = await upstream(t);
    for (const reply of [
      httpReply({ status: 502, body: '<h1>Bad Gateway</h1>' }),
      httpReply({ status: 301, headers: { Location: '/elsewhere' } }),
      jsonReply('{"no', { status: 200 }),
    ]) {
      other.answer(() => reply);
      const told = async (): Promise<unknown> => (await clientOf('admin', other.url).whoami()).value;
      assert.equal((await failure(told())).code, 'no-gateway');
      assert.equal(other.requests.length, 1);
    }
  });

  test('whose connection breaks off is not sent again', async (t) => {
    const breaking = await upstream(t);
    const client = clientOf('admin', breaking.url);
    for (const begin of ['', 'HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"']) {
      for (const call of [() => client.cancelRun({ path: { id: 'x' } }), () => client.listRuns()]) {
        breaking.answer((_request, socket) => void socket.end(begin));
        assert.equal((await failure(call())).code, 'no-reply');
        assert.equal(breaking.requests.length, 1);
      }
    }
  });

  test('that is aborted rejects with the reason of its signal', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    far.answer(() => resolve());
    const leave = new AbortController();
    const call = admin.restQuery({
      path: { adapterId: 'Local NSO' },
      body: { params: { path: 'data', accept: 'application/json' } },
      signal: leave.signal,
    });
    await arrived;
    leave.abort(new Error('enough'));
    await assert.rejects(call, /^Error: enough$/u);
  });

  test('with a path parameter that leads to another operation is refused before it is sent', async () => {
    for (const id of ['..', '.', '']) await assert.rejects(admin.cancelRun({ path: { id } }), TypeError);
  });

  test('with a large reply hands out the response before its body', async () => {
    await storedAutomation('Exported');
    const response = await admin.open('exportAutomations');
    assert.match(response.headers.get('content-type') ?? '', /ndjson/u);
    assert.match(await response.text(), /"name":"Exported"/u);
  });
});

describe('a list', () => {
  test('yields its entries page after page, by skip and by cursor', async () => {
    const id = await storedAutomation('Listed 0');
    for (const number of [1, 2, 3, 4]) await storedAutomation(`Listed ${number}`);
    const query = { startsWith: 'Listed', limit: 2 };
    const names = await Array.fromAsync(admin.each.listAutomations({ query }), ({ name }) => name);
    assert.deepEqual(names, ['Listed 0', 'Listed 1', 'Listed 2', 'Listed 3', 'Listed 4']);
    const runs: string[] = [];
    for (let run = 0; run < 5; run += 1) runs.push((await admin.runAutomation({ path: { id }, body: {} })).value.id);
    const listed = await Array.fromAsync(admin.each.listRuns({ query: { automation: id, limit: 2 } }), (run) => run.id);
    assert.deepEqual(listed.toSorted(), runs.toSorted());
  });
});

describe('the events of a run', () => {
  test('come each once, over a connection that is cut, and end with the run', async (t) => {
    const { url, cut } = await cuttable(t);
    const id = await storedAutomation('Followed');
    const client = clientOf('admin', url);
    const run = (await client.runAutomation({ path: { id }, body: {} })).value;
    const interruptions: string[] = [];
    const types: string[] = [];
    const positions = new Set<string | undefined>();
    const onInterruption = ({ code }: GatewayError): void => void interruptions.push(code);
    for await (const { value, position } of client.followRun({ path: { id: run.id }, onInterruption })) {
      types.push(value.type.replace('io.serverlessworkflow.', ''));
      positions.add(position);
      if (types.at(-1) === 'task.started.v1' && interruptions.length === 0) cut();
    }
    assert.deepEqual(interruptions, ['no-reply']);
    assert.equal(positions.size, types.length);
    assert.equal(types.filter((type) => type === 'task.completed.v1').length, 3);
    assert.equal(types.at(-1), 'workflow.completed.v1');
    assert.match((await client.readRun({ path: { id: run.id } })).text, /"output":\{"serial":18446744073709551615\}/u);
    const after = [...positions].at(-2);
    const rest = await Array.fromAsync(client.followRun({ path: { id: run.id }, after }), ({ value }) => value.type);
    assert.deepEqual(rest, ['io.serverlessworkflow.workflow.completed.v1']);
  });

  test('end with an abort, and with a refusal that waiting cannot mend', async () => {
    const leave = new AbortController();
    const events = admin.followEvents({ signal: leave.signal, onOpen: () => leave.abort(new Error('enough')) });
    await assert.rejects(Array.fromAsync(events), /^Error: enough$/u);
    const error = await failure(Array.fromAsync(admin.followRun({ path: { id: 'none' } })));
    assert.equal(error.code, 'run-not-found');
  });
});
