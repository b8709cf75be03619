// suite: long, waiting

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { openConnection, type Reply } from './support/callers/http-client.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';

// POST /automation_catalog/import and GET /automation_catalog/export.

const gateway = await startGateway({ after }, { config: { server: { requestBodyLimit: '1KiB' } } });
const path = '/automation_catalog';
const ndjson = { 'Content-Type': 'application/x-ndjson' };

function importing(body: string | Buffer, headers: Readonly<Record<string, string>> = ndjson): Promise<Reply> {
  return gateway.send({ method: 'POST', target: `${path}/import`, role: 'admin', headers, body });
}

async function exported(): Promise<string> {
  const reply = await gateway.send({ target: `${path}/export`, role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.header('content-type'), 'application/x-ndjson');
  assert.ok(reply.complete);
  return reply.text;
}

interface Exported extends Readonly<Record<string, unknown>> {
  readonly _id: string;
}

/** The automations of lines, which may have no `kind`. */
function documentsIn(lines: string): readonly Exported[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const read = JSON.parse(line) as Exported;
      return read['kind'] === 'automation' ? (read['document'] as Exported) : read;
    });
}

async function emptied(): Promise<void> {
  for (const { _id } of documentsIn(await exported())) {
    const reply = await gateway.send({ method: 'DELETE', target: `${path}/automations/${_id}`, role: 'admin' });
    assert.equal(reply.status, 204, reply.text);
  }
}

/** The lines without those who answer for them; the importer does. */
function withoutPeople(lines: string): string {
  return text(
    documentsIn(lines).map(({ lastModifiedBy, ...document }) => {
      assert.equal(lastModifiedBy, 'admin-user');
      const { owner, scheduledBy: _, ...data } = (document['data'] ?? {}) as Readonly<Record<string, unknown>>;
      assert.equal(owner, 'admin-user');
      return { ...document, data: Object.keys(data).length === 0 ? undefined : data };
    }),
  );
}

const text = (documents: readonly unknown[]): string => documents.map((document) => `${JSON.stringify(document)}\n`).join('');

describe('an import', () => {
  test('keeps every field as given, in any order, and an export gives the same bytes back', async () => {
    await emptied();
    const whole = {
      repeatInterval: '2 weeks',
      name: 'Ärger mit "Quotes" 😀 \u0000',
      _id: 'A.b-c_1',
      lastModifiedBy: 'somebody',
      nextRunAt: '2026-01-01T01:00:00+01:00',
      data: { lastUpdated: '2020-02-02T02:02:02.222Z', gbac: { read: ['noc'], write: [] }, formId: '' },
    };
    const reply = await importing(`\r\n${JSON.stringify(whole)}\r\n\n  \n{"name":"without id"}`);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.json(), { imported: 2, replaced: 0 });
    const first = await exported();
    const [kept, made] = first.split('\n');
    assert.equal(
      kept,
      '{"kind":"automation","document":{"_id":"A.b-c_1","name":"Ärger mit \\"Quotes\\" 😀 \\u0000","data":{"gbac":{"write":[],"read":["noc"]},"lastUpdated":"2020-02-02T02:02:02.222Z","owner":"admin-user","scheduledBy":"admin-user","formId":""},"lastModifiedBy":"admin-user","nextRunAt":"2026-01-01T00:00:00.000Z","repeatInterval":"2 weeks"}}',
    );
    assert.match(
      made ?? '',
      /^\{"kind":"automation","document":\{"_id":"[0-9a-f]{24}","name":"without id","data":\{"owner":"admin-user"\},"lastModifiedBy":"admin-user"\}\}$/u,
    );
    assert.deepEqual((await importing(first)).json(), { imported: 2, replaced: 2 });
    assert.equal(await exported(), first);
    await emptied();
    assert.deepEqual((await importing(first)).json(), { imported: 2, replaced: 0 });
    assert.equal(await exported(), first);
  });

  test('replaces what has its _id, and names may be swapped in it', async () => {
    await emptied();
    await importing(
      text([
        { _id: '1', name: 'x', lastModifiedBy: 'old' },
        { _id: '2', name: 'y' },
        { _id: '3', name: 'z' },
      ]),
    );
    const reply = await importing(
      text([
        { _id: '1', name: 'y' },
        { _id: '2', name: 'x' },
      ]),
    );
    assert.deepEqual(reply.json(), { imported: 2, replaced: 2 });
    assert.equal(
      withoutPeople(await exported()),
      text([
        { _id: '2', name: 'x' },
        { _id: '1', name: 'y' },
        { _id: '3', name: 'z' },
      ]),
    );
  });

  test('names each of many bad lines', async () => {
    const { errors = [] } = assertProblem(await importing(Buffer.from('{"name":5}\n'.repeat(300))), 400, 'invalid-request');
    assert.deepEqual([errors.length, errors.at(-1)?.pointer], [300, '/300/name']);
  });

  test('names every bad line, and changes nothing', async () => {
    await emptied();
    await importing(text([{ _id: 'kept', name: 'kept' }]));
    const before = await exported();
    const lines = [
      '{"name":"good"}',
      '{"name":""}',
      '',
      'no json',
      '{"name":"a","name":"b"}',
      '{"_id":"..","name":"c","repeatInterval":"5 mins"}',
      '[]',
      '{"name":"d","data":{"gbac":{"read":[1]},"extra":null}}',
      `{"name":"${'x'.repeat(1_048_576)}"}`,
      '{"name":"\\ud800"}',
      '{"name":"e","nextRunAt":null}',
      'null',
      '{"_id":"again","name":"good"}',
      '{"_id":"another","name":"kept"}',
    ];
    const reply = await importing(Buffer.concat([Buffer.from(lines.join('\n')), Buffer.from('\n{"name":"\xff"}', 'latin1')]));
    const { errors = [], detail } = assertProblem(reply, 400, 'invalid-request');
    assert.match(detail, /^13 lines /u);
    const pointers = errors.map(({ pointer }) => pointer);
    for (const pointer of [
      '/2/name',
      '/4',
      '/6/_id',
      '/6/repeatInterval',
      '/7',
      '/8/data/gbac/read/0',
      '/8/data/extra',
      '/9',
      '/11/nextRunAt',
      '/12',
      '/13/name',
      '/14/name',
      '/15',
    ])
      assert.ok(pointers.includes(pointer), `${pointer} in ${pointers.join()}`);
    assert.ok(pointers.some((pointer) => pointer.startsWith('/5')) && pointers.some((pointer) => pointer.startsWith('/10')));
    for (const { pointer, detail: each } of errors) {
      assert.ok(each.startsWith(`line ${pointer.split('/')[1]}: `), each);
      // The detail names the line once, as above, and speaks of no body: a line is none.
      assert.doesNotMatch(each, /at line|body/u);
    }
    assert.ok(errors.some(({ detail: each }) => /The line is not acceptable JSON: .*, at column \d+ \(byte \d+\)/u.test(each)));
    assert.equal(await exported(), before);
  });

  test('names the other line of a repeated _id or name, and the automation of the catalogue that has a name', async () => {
    await emptied();
    await importing(text([{ _id: 'kept', name: 'kept' }]));
    const before = await exported();
    const documents = [
      { _id: '1', name: 'a' },
      { _id: '1', name: 'b' },
      { _id: '2', name: 'a' },
    ];
    const repeated = assertProblem(await importing(text(documents)), 400, 'invalid-request');
    assert.deepEqual(
      repeated.errors?.map(({ pointer, detail }) => [pointer, /of line \d+/u.exec(detail)?.[0]]),
      [
        ['/2/_id', 'of line 1'],
        ['/3/name', 'of line 1'],
      ],
    );
    const taken = assertProblem(await importing(text([{ _id: 'new', name: 'kept' }])), 409, 'automation-exists');
    assert.match(taken.errors?.[0]?.detail ?? '', /^line 1: .*automation kept of the catalogue/u);
    assert.equal(await exported(), before);
  });

  test('may be longer than requestBodyLimit, of many lines, and of nothing', async (t) => {
    const other = await startGateway(t, { config: { server: { requestBodyLimit: '1KiB' } } });
    const request = { method: 'POST', target: `${path}/import`, role: 'admin', headers: ndjson } as const;
    const documents = Array.from({ length: 5_000 }, (_, index) => ({
      _id: `i${index}`,
      name: `n${String(index).padStart(5, '0')}`,
    }));
    assert.deepEqual((await other.send({ ...request, body: text(documents) })).json(), { imported: 5_000, replaced: 0 });
    assert.equal(withoutPeople((await other.send({ target: `${path}/export`, role: 'admin' })).text), text(documents));
    for (const body of ['', '\n', '\n\n  \r\n']) {
      assert.deepEqual((await other.send({ ...request, body })).json(), { imported: 0, replaced: 0 });
    }
    const page = await other.send({ target: `${path}/automations?skip=4990&limit=3`, role: 'readonly' });
    const { list, total } = page.json() as { readonly list: readonly unknown[]; readonly total: number };
    assert.equal(total, 5_000);
    assert.equal(withoutPeople(text(list)), text(documents.slice(4_990, 4_993)));
  });

  test('of 20,000 documents is one transaction, and one of more is refused as a whole', async (t) => {
    const other = await startGateway(t);
    const ask = (body: string | Buffer): Promise<Reply> =>
      other.send({ method: 'POST', target: `${path}/import`, role: 'admin', headers: ndjson, body });
    const line = (index: number): string => `{"_id":"n${index}","name":"n${index}"}\n`;
    const most = Array.from({ length: 20_000 }, (_, index) => line(index)).join('');
    assertProblem(await ask(most + line(20_000)), 413, 'import-too-large');
    const large = `${JSON.stringify({ name: 'large', data: { description: 'x'.repeat(1_000_000) } })}\n`;
    assertProblem(await ask(Buffer.from(large.repeat(70))), 413, 'import-too-large');
    assert.deepEqual((await ask(`${most}\n\n`)).json(), { imported: 20_000, replaced: 0 });
  });

  test('that breaks off in the middle changes nothing', async () => {
    const admin = `Authorization: ${basic('admin-user', testPassword)}\r\n`;
    const head = `POST ${path}/import HTTP/1.1\r\nHost: x\r\n${admin}Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const before = await exported();
    const lines = text(Array.from({ length: 2_000 }, (_, index) => ({ name: `broken off ${index}` })));
    for (const ending of ['destroy', 'resetAndDestroy'] as const) {
      const connection = await openConnection(gateway.port);
      connection.write(`${head}${Buffer.byteLength(lines).toString(16)}\r\n${lines}\r\n`);
      await lapse(300, 'the gateway reads the lines');
      connection.socket[ending]();
      await connection.closed();
    }
    await lapse(1_000, 'an import of these lines would end');
    assert.equal(await exported(), before);
  });

  test('of another media type is refused, and so is one without credentials, before a byte is read', async () => {
    assertProblem(await importing('{}', { 'Content-Type': 'application/json' }), 415, 'unsupported-media-type');
    const head = `POST ${path}/import HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n`;
    const connection = await openConnection(gateway.port);
    connection.write(head);
    assert.equal((await connection.reply())?.status, 401);
    connection.socket.destroy();
  });
});

describe('an export', () => {
  test('whose reader leaves frees its place', async () => {
    await emptied();
    const large = 'x'.repeat(100_000);
    await importing(
      text(Array.from({ length: 100 }, (_, index) => ({ _id: `e${index}`, name: `${index}`, data: { description: large } }))),
    );
    const admin = `Authorization: ${basic('admin-user', testPassword)}\r\n`;
    for (let round = 0; round < 4; round += 1) {
      const connection = await openConnection(gateway.port);
      connection.write(`GET ${path}/export HTTP/1.1\r\nHost: x\r\n${admin}\r\n`);
      await new Promise((resolve) => connection.socket.once('data', resolve));
      connection.socket.resetAndDestroy();
      await connection.closed();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.equal((await exported()).split('\n').length, 101);
    await emptied();
  });

  test('whose head alone is asked for keeps no place, however often', async () => {
    for (let count = 0; count < 4; count += 1) {
      const reply = await gateway.send({ method: 'HEAD', target: `${path}/export`, role: 'admin' });
      assert.deepEqual([reply.status, reply.body.length], [200, 0]);
    }
    assert.equal((await gateway.send({ target: `${path}/export`, role: 'admin' })).status, 200);
  });
});
