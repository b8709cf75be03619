import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { callDemo } from './demo-client.ts';
import { startDemoOrchestrator } from './demo-orchestrator.ts';

async function started(t: TestContext) {
  const demo = await startDemoOrchestrator();
  t.after(() => demo.close());
  return demo;
}

test('the echo shows method, target, header lines and body unchanged, without credentials', async (t) => {
  const { url } = await started(t);
  const path = '/demo/echo/a%2Fb/%e2%82%ac?x=1&x=%2B';
  const body = '{"n": 18446744073709551615, "n": 1.0}';
  const reply = await callDemo(url, { method: 'PATCH', path, credentials: null, headers: { 'X-Name': 'Kept' }, body });
  const echo = JSON.parse(reply.body);
  assert.deepEqual([echo.method, echo.url, echo.body, echo.bodyBytes], ['PATCH', path, body, body.length]);
  assert.ok(echo.headers.some(([name, value]: [string, string]) => name === 'X-Name' && value === 'Kept'));
  assert.equal(Buffer.from(echo.bodyBase64, 'base64').toString(), body);
});

test('bytes replies with exactly the requested size, by Content-Length or in chunks', async (t) => {
  const { url } = await started(t);
  for (const form of ['text', 'json', 'binary']) {
    for (const framing of ['length', 'chunked']) {
      const { headers, body } = await callDemo(url, { path: `/demo/bytes?size=200001&as=${form}&framing=${framing}` });
      assert.equal(Buffer.byteLength(body, form === 'binary' ? 'latin1' : 'utf8'), 200_001);
      assert.equal(headers['content-length'], framing === 'length' ? '200001' : undefined);
      if (form === 'json') assert.equal(JSON.parse(body).filler.length, 199_988);
    }
  }
  for (const query of ['size=-1', 'size=x', 'size=5&as=json', 'as=wav']) {
    assert.equal((await callDemo(url, { path: `/demo/bytes?${query}` })).status, 400, query);
  }
});

test('close aborts a reply and frees the port', async () => {
  const demo = await startDemoOrchestrator();
  const { port } = new URL(demo.url);
  const socket = connect(Number(port), '127.0.0.1');
  const ended = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => {});
  socket.write('GET /demo/bytes?size=1000000000 HTTP/1.1\r\nHost: demo\r\n\r\n');
  await new Promise((resolve) => socket.once('readable', resolve));
  await demo.close();
  socket.resume();
  await ended;
  const again = await startDemoOrchestrator({ port: Number(port) });
  await again.close();
});

test('the command in README.md starts the orchestrator alone', async (t) => {
  const page = await readFile(new URL('README.md', import.meta.url), 'utf8');
  const [, shown = ''] = /```sh\n(node_modules.*?)```/su.exec(page) ?? [];
  const child = spawn('sh', ['-c', `exec ${shown.replace('8080', '0')}`], { cwd: new URL('..', import.meta.url) });
  t.after(() => child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { status } = await callDemo(line.toString().trim(), { path: '/restconf/data/tailf-ncs:devices/device=ce0' });
  assert.equal(status, 200);
});

test('two demo orchestrators share nothing', async (t) => {
  const [one, other] = [await started(t), await started(t)];
  await callDemo(one.url, { method: 'POST', path: '/demo/lock' });
  const write = {
    method: 'PUT',
    path: '/restconf/data/tailf-ncs:devices/global-settings/trace',
    headers: { 'Content-Type': 'application/yang-data+json' },
    body: '{"tailf-ncs:trace":"raw"}',
  };
  assert.equal((await callDemo(one.url, write)).status, 409);
  assert.equal((await callDemo(other.url, write)).status, 204);
});
