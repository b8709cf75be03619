import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { command, shell, spawnCommand } from './support/gateway/command.ts';
import { executable } from './support/gateway/gateway-process.ts';
import { configurationOf, startGateway } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';

// `import FILE` and `export`: each test has a store of its own.

interface Place {
  readonly directory: string;
  readonly url: string;
}

/** A directory with a gateway.yaml that names an empty store. */
async function place(t: TestContext, store: TestStore): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const url = storeUrl(await store.fresh(t));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ config: { store: { url } } })));
  return { directory, url };
}

/** `count` documents as lines, in the form and order of an export. */
function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const number = String(index).padStart(24, '0');
    const gbac = { write: ['ops'], read: index % 10 === 0 ? ['ops', 'noc'] : [] };
    return `${JSON.stringify({ _id: number, name: `Automation ${number} ü`, data: { gbac, lastUpdated: '2026-01-02T03:04:05.678Z' } })}\n`;
  }).join('');
}

const taking =
  'orchestration-gateway import: what is new or changed has no author, and is not due until a person takes it: automations take NAME, at a running gateway\n';

eachStore((store) => {
  test('an import without people is exported byte for byte, and can be imported again', async (t) => {
    const { directory } = await place(t, store);
    assert.equal((await command(['import', '-'], { directory, input: '' })).code, 0);
    writeFileSync(join(directory, 'catalogue.ndjson'), lines(250));
    const imported = await command(['import', 'catalogue.ndjson'], { directory });
    assert.deepEqual(imported, { code: 0, stdout: 'imported 250 automations, 0 of them replaced\n', stderr: taking });
    const exported = await command(['export', '--config=gateway.yaml'], { directory });
    assert.deepEqual(exported, { code: 0, stdout: lines(250), stderr: 'exported 250 automations\n' });
    const again = await command(['import', '-'], { directory, input: exported.stdout });
    assert.deepEqual(again, { code: 0, stdout: 'imported 250 automations, 250 of them replaced\n', stderr: taking });
    assert.equal((await command(['export'], { directory })).stdout, lines(250));
  });

  test('a command that reads fails where there is no store, and creates no file', async (t) => {
    const { directory, url } = await place(t, store);
    for (const reading of [['export'], ['audit', 'list'], ['audit', 'verify']]) {
      const { code, stderr } = await command(reading, { directory });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /There is no store at .*ENOENT|has not the tables of this version/u);
    }
    if (url.startsWith('sqlite:')) assert.deepEqual(readdirSync(dirname(url.slice('sqlite:'.length))), []);
  });

  test('a gateway that runs on the store lists an import with its next request', async (t) => {
    const { directory, url } = await place(t, store);
    const gateway = await startGateway(t, { config: { store: { url } } });
    const total = async (): Promise<unknown> => {
      const reply = await gateway.send({ target: '/automation_catalog/automations?limit=0', role: 'admin' });
      return (reply.json() as { readonly total: number }).total;
    };
    assert.equal(await total(), 0);
    assert.equal((await command(['import', '-'], { directory, input: lines(120) })).code, 0);
    assert.equal(await total(), 120);
  });

  test('an import with bad lines names each on a line of its own, and changes nothing', async (t) => {
    const { directory } = await place(t, store);
    await command(['import', '-'], { directory, input: lines(3) });
    const bad = ['{"name":"new"}', '{"name":7,"data":{"gbac":{"read":"ops"}}}', '', '{"name":'].join('\n');
    writeFileSync(join(directory, 'bad.ndjson'), bad);
    const { code, stdout, stderr } = await command(['import', 'bad.ndjson'], { directory });
    assert.deepEqual([code, stdout], [1, '']);
    const messages = stderr.trimEnd().split('\n');
    assert.match(stderr, /^bad\.ndjson:2: \/name: /mu);
    assert.match(stderr, /^bad\.ndjson:2: \/data\/gbac\/read: /mu);
    assert.match(stderr, /^bad\.ndjson:4: /mu);
    assert.match(messages.at(-1) ?? '', /^orchestration-gateway import: 2 lines .*nothing was changed/u);
    for (const line of messages.slice(0, -1)) assert.match(line, /^bad\.ndjson:[24]: /u);
    const twice = await command(['import', '-'], { directory, input: '{"name":"new"}\n{"name":"newer"}\n{"name":"new"}\n' });
    assert.deepEqual([twice.code, twice.stdout], [1, '']);
    assert.match(twice.stderr, /^<stdin>:3: \/name: is the name of line 1 as well.*$/mu);
    assert.equal((await command(['export'], { directory })).stdout, lines(3));
  });

  test('an import that is interrupted changes nothing', async (t) => {
    const { directory } = await place(t, store);
    const child = spawnCommand(['import', '-'], { directory });
    t.after(() => void child.kill('SIGKILL'));
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    // This is more than the buffer of a pipe: once all of it is written, the import has begun and waits for more.
    const taken = Promise.withResolvers<void>();
    child.stdin?.write(lines(5_000), () => taken.resolve());
    await taken.promise;
    child.kill('SIGINT');
    await once(child, 'close');
    assert.deepEqual([child.exitCode, stderr], [1, 'orchestration-gateway import: interrupted; nothing was changed\n']);
    const empty = await command(['export'], { directory });
    assert.deepEqual(empty, { code: 0, stdout: '', stderr: 'exported 0 automations\n' });
  });

  test('an export whose reader closes the pipe ends without a message', async (t) => {
    const { directory } = await place(t, store);
    await command(['import', '-'], { directory, input: lines(2_000) });
    const line = `cd '${directory}' && { '${process.execPath}' '${executable}' export; echo "code $?" >&2; } | head -n 1`;
    assert.deepEqual(await shell(line), { code: 0, stdout: lines(1), stderr: 'code 0\n' });
  });
});
