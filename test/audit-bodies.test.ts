import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { callersOf, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStore, foundPostgres, sqliteStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// What changes sent, and who reads it.

const json = 'application/json';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

type GatewayOptions = NonNullable<Parameters<typeof startGateway>[1]>;

interface Body {
  readonly body: string;
  readonly sha256: string;
  readonly truncated?: true;
}

async function stage(t: TestContext, store: TestStore, more: Partial<GatewayOptions> = {}) {
  const far = await upstream(t, () => jsonReply('{}'));
  const place = await store.fresh(t);
  const { config = {}, ...others } = more;
  const options: GatewayOptions = {
    config: { store: { url: storeUrl(place) }, outbound: { allow: ['127.0.0.1'] }, ...config },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    users: usersOf(stagePeople),
    ...others,
  };
  const gateway = await startGateway(t, options);
  const send = (user: string, method: string, target: string, body?: string) =>
    gateway.send({
      method,
      target,
      headers: { authorization: basic(user, testPassword), 'content-type': json },
      ...(body !== undefined && { body }),
    });
  /** Sends a change, and answers its record. */
  const change = async (body: string, { type = '', user = 'ann' } = {}): Promise<AuditRecord> => {
    const path = `devices/device=d${Math.random()}`;
    const call = `{"params":{"path":"${path}","method":"PUT","accept":"${json}"},"body":${body}}`;
    const headers = JSON.stringify({ 'Content-Type': type });
    const text = `{"uri":"${far.url}/${path}","verb":"PUT","responseHeaders":false,"headers":${headers},"body":${body}}`;
    const target = type === '' ? '/orchestrator_manager/restRequest/Far' : '/tools/restCall';
    const reply = await send(user, 'POST', target, type === '' ? call : text);
    assert.equal(reply.status, 200, reply.text);
    return await recordOf(`address=${encodeURIComponent(path)}`);
  };
  const recordOf = async (filter: string): Promise<AuditRecord> => {
    let found: AuditRecord | undefined;
    await until(`a record of ${filter}`, async () => {
      const { list } = (await send('ann', 'GET', `/audit?${filter}`)).json() as { readonly list: readonly AuditRecord[] };
      found = list.find(({ outcome }) => outcome !== undefined);
      return found !== undefined;
    });
    assert.ok(found !== undefined);
    return found;
  };
  const read = async ({ id }: { readonly id: string }): Promise<Body | undefined> => {
    const reply = await send('ann', 'GET', `/audit/${id.replace('/', '_')}/body`);
    if (reply.status === 404) {
      assert.equal((reply.json() as { readonly code: string }).code, 'body-not-found');
      return undefined;
    }
    assert.equal(reply.status, 200, reply.text);
    return reply.json() as Body;
  };
  return { far, place, gateway, options, send, change, recordOf, read };
}

eachStore((store) => {
  test('the body of a change can be read as it was sent, with its digits and *** for what is masked', async (t) => {
    const { change, read } = await stage(t, store);
    const sent =
      '{ "n" : 1.50e+02, "id":18446744073709551615,"snmp-Community":"public", "x":{"key-string":[1,2]}, "Authorization":"Basic x", "tailf:password":{"a":1}, "p\\u0061ssphrase":null, "name":"é \\u00e9"}';
    const masked =
      '{ "n" : 1.50e+02, "id":18446744073709551615,"snmp-Community":"***", "x":{"key-string":"***"}, "Authorization":"***", "tailf:password":"***", "p\\u0061ssphrase":"***", "name":"é \\u00e9"}';
    const record = await change(sent);
    assert.deepEqual(await read(record), { body: masked, sha256: sha256(masked) });
    assert.equal(record.bodySha256, sha256(masked));
  });

  test('the body of another type is masked by the names of its fields, elements and attributes', async (t) => {
    const { change, read } = await stage(t, store);
    const bodies = [
      ['{"user":"ann","my-secret":"s 1","n":1.0}', 'application/x-www-form-urlencoded', 'user=ann&my-secret=***&n=1.0'],
      [
        '{"config":{"@xmlns":"urn:x","name":"é","enable-password":{"level":"7"},"snmp":{"@community":"c"}}}',
        'application/xml',
        '<config xmlns="urn:x"><name>é</name><enable-password>***</enable-password><snmp community="***"/></config>',
      ],
      ['{"$xml":"<a><token>x</token>y</a>"}', 'text/xml', '<a><token>***</token>y</a>'],
    ] as const;
    for (const [body, type, wanted] of bodies) {
      const found = await read(await change(body, { type }));
      assert.deepEqual(found, { body: wanted, sha256: sha256(wanted) });
    }
  });

  test('a long body is cut between two characters to 64 KiB, and its digest is of the whole', async (t) => {
    const { change, read } = await stage(t, store);
    for (const text of [
      `{"a":"${'a'.repeat(65_529)}é"}`,
      `{"a":"${'€'.repeat(40_000)}"}`,
      `{"a":"${'x'.repeat(3_000_000)}","password":"p"}`,
    ]) {
      const whole = text.replace('"password":"p"', '"password":"***"');
      const found = await read(await change(text));
      assert.deepEqual([found?.sha256, found?.truncated], [sha256(whole), true]);
      const size = Buffer.byteLength(found?.body ?? '');
      assert.ok(whole.startsWith(found?.body ?? '-') && size <= 65_536 && size > 65_532, String(size));
    }
  });

  test('queries, previews and refused changes have no body, and changes without one have no digest', async (t) => {
    const { send, recordOf, read } = await stage(t, store, {
      adapters: [{ name: 'Far', kind: 'rest', url: 'http://127.0.0.1:1', denyPaths: { actions: ['denied/**'], queries: [] } }],
    });
    const call = (operation: string, path: string, more = ''): Promise<unknown> =>
      send('ann', 'POST', `/orchestrator_manager/${operation}/Far`, `{"params":{"path":"${path}","accept":"${json}"}${more}}`);
    await call('restQuery', 'query');
    await call('restAction', 'denied/x', ',"body":{"a":1}');
    await call('restAction', 'unreachable', ',"body":{"a":1}');
    for (const path of ['query', 'denied']) {
      const record = await recordOf(`address=${path}`);
      assert.deepEqual([record.bodySha256, await read(record)], [undefined, undefined]);
    }
    assert.equal((await read(await recordOf('address=unreachable')))?.body, '{"a":1}');
    for (const id of ['none_1', 'none', '..%2f..', '%00_1', `${'a'.repeat(300)}_1`, 'x_99999999999999999999'])
      assert.equal((await send('ann', 'GET', `/audit/${id}/body`)).status, 404, id);
  });

  test('with bodies: none a record has the digest alone, and mask names other members', async (t) => {
    const { change, read } = await stage(t, store, { config: { audit: { bodies: 'none', mask: ['colour'] } } });
    const record = await change('{"Colours":"red","token":"t","password":"p"}');
    assert.equal(record.bodySha256, sha256('{"Colours":"***","token":"t","password":"***"}'));
    assert.equal(await read(record), undefined);
  });

  test('one person has a tenth of the space, the oldest bodies go first, and the log can still be verified', async (t) => {
    const { change, read, send } = await stage(t, store, { config: { audit: { bodiesMaxSize: '1MiB' } } });
    const old = await change('{"of":"bob"}', { user: 'bob' });
    const records: AuditRecord[] = [];
    for (let number = 0; number < 8; number += 1) records.push(await change(`{"a":"${String(number).repeat(30_000)}"}`));
    const kept = await Promise.all(records.map(async (record) => (await read(record)) !== undefined));
    assert.deepEqual(kept, [false, false, false, false, false, true, true, true]);
    assert.ok(records.every(({ bodySha256 }) => bodySha256 !== undefined));
    assert.equal((await read(old))?.body, '{"of":"bob"}');
    const { problems, cursor } = (await send('ann', 'POST', '/audit/verify', '{}')).json() as {
      readonly problems: readonly string[];
      readonly cursor?: string;
    };
    assert.deepEqual([problems, cursor], [[], undefined]);
  });

  test('a verification names each body that was changed, cut or made up, and none that went', async (t) => {
    const { change, read, send, place } = await stage(t, store);
    const changes = ['{"a":1}', '{"b":2}', '{"c":3}', `{"long":"${'x'.repeat(70_000)}"}`, `{"long":"${'y'.repeat(70_000)}"}`];
    const records: AuditRecord[] = [];
    for (const body of changes) records.push(await change(body));
    const long = records[3];
    assert.ok(long !== undefined);
    assert.equal(long.keptSha256, sha256((await read(long))?.body ?? ''));
    assert.equal(records[0]?.keptSha256, undefined);
    const problems = async (): Promise<readonly string[]> =>
      ((await send('ann', 'POST', '/audit/verify', '{}')).json() as { readonly problems: readonly string[] }).problems;
    assert.deepEqual(await problems(), []);
    const database = await store.open(t, place);
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = records.map(({ id }) => id.split('/')[1] ?? '');
    const [chain = ''] = long.id.split('/');
    const bodies = (seq: string) => database.records.updateTable('audit_body').where('seq', '=', Number(seq));
    await bodies(first).set({ body: '{"a":2}' }).execute();
    await bodies(second).set({ is_cut: 1 }).execute();
    await bodies(fourth)
      .set({ body: `{"long":"${'x'.repeat(65_000)}` })
      .execute();
    await bodies(fifth).set({ seq: 1 }).execute();
    await database.records.deleteFrom('audit_body').where('seq', '=', Number(third)).execute();
    assert.deepEqual(
      (await problems()).toSorted(),
      [
        `the body of ${chain}/1 was made up`,
        ...[first, second, fourth].map((seq) => `the body of ${chain}/${seq} was changed`),
      ].toSorted(),
    );
  });

  test('a person without a right to readAuditBody gets 403, and one who may only read bodies cannot list the log', async (t) => {
    const { change, gateway } = await stage(t, store, {
      config: {
        access: {
          roles: [
            { name: 'auditor', allows: [{ routes: ['listAudit'] }] },
            { name: 'examiner', allows: [{ routes: ['readAuditBody'] }] },
          ],
        },
      },
      users: usersOf({
        ...stagePeople,
        ivy: { roles: ['auditor'], groups: [] },
        eve: { roles: ['examiner'], groups: [] },
        rob: { roles: ['readonly', 'engineering'], groups: [] },
      }),
    });
    const { id } = await change('{"a":1}');
    const target = `/audit/${id.replace('/', '_')}/body`;
    const statuses = async (user: string): Promise<readonly (number | undefined)[]> => {
      const headers = { authorization: basic(user, testPassword) };
      return [(await gateway.send({ target: '/audit', headers })).status, (await gateway.send({ target, headers })).status];
    };
    assert.deepEqual(await statuses('ivy'), [200, 403]);
    assert.deepEqual(await statuses('eve'), [403, 200]);
    assert.deepEqual(await statuses('rob'), [403, 403]);
  });
});

test('a placeholder of a sealed secret stays one in the body, and a value of a secret is masked', async (t) => {
  const secret = 'plum-tree-77';
  const { gateway, far, send, recordOf, read } = await stage(t, sqliteStore, {
    config: {
      automations: {
        secrets: {
          pin: {
            value: { env: 'PIN' },
            workflows: ['lab.*'],
            writers: { roles: ['admin'] },
            destinations: [],
            adapters: ['Far'],
            places: ['body'],
          },
        },
      },
    },
    environment: { PIN: secret },
  });
  const { automation, start, reaches } = callersOf(() => gateway);
  const body = { pin: `\${ $secrets.pin }`, said: secret, password: 'p' };
  const call = { call: 'orchestratorAction', with: { adapter: 'Far', params: { path: 'sealed', accept: json }, body } };
  const document = {
    document: { dsl: '1.0.3', namespace: 'lab', name: 'sealed', version: '1.0.0' },
    use: { secrets: ['pin'] },
    do: [{ act: call }],
  };
  assert.equal((await send('ann', 'POST', '/automation_catalog/workflows', JSON.stringify(document))).status, 201);
  const { id } = await start('ann', await automation('sealed'));
  await reaches(id, 'completed');
  assert.match(far.requests.at(-1)?.body.toString() ?? '', new RegExp(`"pin":"${secret}"`, 'u'));
  const found = await read(await recordOf('address=sealed'));
  const read1 = JSON.parse(found?.body ?? '{}') as Readonly<Record<string, string>>;
  assert.deepEqual([read1['said'], read1['password']], ['***', '***']);
  assert.ok(read1['pin'] !== undefined && read1['pin'].length > 10 && found?.body.includes(secret) === false);
});

test('what people fill into a password field of a form is in no kept body, under any name', async (t) => {
  const { gateway, far, send, recordOf, read } = await stage(t, sqliteStore);
  const { store: put, automation, start, reaches } = callersOf(() => gateway);
  const field = { type: 'string', format: 'password' };
  const form = { type: 'object', properties: { device: { type: 'string' }, enable: field, pin: field } };
  assert.equal((await send('ann', 'PUT', '/automation_catalog/forms/login', JSON.stringify(form))).status, 201);
  const body = { line: '${ "enable " + .enable }', pin: '${ .pin }', enable: 'x', device: '${ .device }' };
  const call = { call: 'orchestratorAction', with: { adapter: 'Far', params: { path: 'filled', accept: json }, body } };
  assert.equal((await put('ann', 'filled', '1.0.0', [{ act: call }])).status, 201);
  const input = { device: 'r7', enable: 'correct-horse', pin: '123' };
  const { id } = await start('ann', await automation('filled', { formId: 'login' }), { input });
  await reaches(id, 'completed');
  assert.match(far.requests.at(-1)?.body.toString() ?? '', /"line":"enable correct-horse"/u);
  const found = await read(await recordOf('address=filled'));
  assert.deepEqual(JSON.parse(found?.body ?? ''), { line: 'enable ***', pin: '***', enable: '***', device: 'r7' });
});

test('bytes that are no UTF-8 are refused before they leave, or kept as U+FFFD', async (t) => {
  const { gateway, far } = await stage(t, sqliteStore);
  const body = Buffer.concat([
    Buffer.from(`{"params":{"path":"bytes","accept":"${json}"},"body":{"a":"`),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}}'),
  ]);
  const reply = await gateway.send({
    method: 'POST',
    target: '/orchestrator_manager/restAction/Far',
    headers: { authorization: basic('ann', testPassword), 'content-type': json },
    body,
  });
  assert.ok(reply.status === 400 || (reply.status === 200 && far.requests.length === 1), String(reply.status));
});

if (foundPostgres !== undefined)
  test('two gateways on one PostgreSQL read the bodies of each other and keep within one space', async (t) => {
    const store = foundPostgres;
    assert.ok(store !== undefined);
    const one = await stage(t, store, { config: { audit: { bodiesMaxSize: '1MiB' } } });
    const other = await startGateway(t, one.options);
    const record = await one.change('{"a":1}');
    const headers = { authorization: basic('bob', testPassword) };
    const seen = await other.send({ target: `/audit/${record.id.replace('/', '_')}/body`, headers });
    assert.deepEqual(seen.json(), { body: '{"a":1}', sha256: sha256('{"a":1}') });
    const listed = (await other.send({ target: `/audit?device=${record.devices?.[0]}`, headers })).json() as {
      readonly list: readonly AuditRecord[];
    };
    assert.deepEqual(
      listed.list.map(({ id }) => id),
      [record.id],
    );
  });
