import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readConsole } from '../src/http/routes/console-routes.ts';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';

// How the gateway serves the console (docs/guides/console.md); test/browser/console.test.ts uses it.

const gateway = await startGateway({ after });
const isBuilt = (await gateway.send({ target: '/console' })).status === 200;
const skip = isBuilt || process.env['CI'] === 'true' ? false : 'the console is not built: npm run build:console';
const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the console', { skip }, () => {
  test('has one document at the address of every page, with a strict policy', async () => {
    const first = await gateway.send({ target: '/console' });
    for (const target of [
      '/console',
      '/console/',
      '/console/runs?status=faulted',
      '/console/runs/019ab2c4',
      '/console/adapters/Local%20NSO',
    ]) {
      const reply = await gateway.send({ target });
      assert.equal(reply.status, 200, target);
      assert.equal(reply.text, first.text);
      assert.equal(
        reply.header('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      );
      assert.deepEqual(
        ['content-type', 'cache-control', 'x-content-type-options', 'referrer-policy', 'cross-origin-opener-policy'].map((name) =>
          reply.header(name),
        ),
        ['text/html; charset=utf-8', 'no-cache', 'nosniff', 'no-referrer', 'same-origin'],
      );
    }
    assert.doesNotMatch(first.text, /<script>|style=|https?:\/\/(?!www\.w3\.org)/u);
  });

  test('has files that a cache may keep, because their names change with them', async () => {
    const { text } = await gateway.send({ target: '/console' });
    const files = [...text.matchAll(/"(\/console\/assets\/[\w.-]+)"/gu)].map(([, file = '']) => file);
    assert.deepEqual(
      files.map((file) => file.replace(/^.*\/(\w+)-.*(\.\w+)$/u, '$1$2')),
      ['mark.svg', 'index.js', 'shared.js', 'index.css'],
    );
    for (const target of files) {
      const plain = await gateway.send({ target });
      assert.equal(plain.header('cache-control'), 'public, max-age=31536000, immutable');
      assert.match(plain.header('content-type') ?? '', /^(?:text\/(?:css|javascript); charset=utf-8|image\/svg\+xml)$/u);
      const packed = await gateway.send({ target, headers: { 'Accept-Encoding': 'br, gzip' } });
      assert.equal(packed.header('content-encoding'), 'gzip');
      assert.equal(gunzipSync(packed.body).toString(), plain.text);
    }
    assertProblem(await gateway.send({ target: '/console/assets/none.js' }), 404, 'not-found');
    assertProblem(await gateway.send({ target: '/console/assets/..%2Findex.html' }), 404, 'not-found');
    assertProblem(await gateway.send({ method: 'POST', target: '/console' }), 405, 'method-not-allowed');
  });

  test('is what a browser gets at the address of the gateway; a program reads where to go', async () => {
    const person = await gateway.send({ target: '/', headers: html });
    assert.deepEqual([person.status, person.header('location')], [302, '/console']);
    const program = await gateway.send({ target: '/', headers: { Accept: '*/*' } });
    assert.equal(program.status, 200);
    const { version, ...addresses } = program.json() as Record<string, string>;
    assert.match(version ?? '', /^\d+\.\d+\.\d+/u);
    assert.deepEqual(addresses, {
      name: 'Orchestration Gateway',
      console: '/console',
      documentation: '/docs',
      openapi: '/openapi.json',
      health: '/healthz',
    });
  });

  test('has the reference of the API, to which /docs leads', async () => {
    const reply = await gateway.send({ target: '/docs' });
    assert.deepEqual([reply.status, reply.header('location'), reply.header('cache-control')], [302, '/console/api', 'no-cache']);
  });

  test('names its files below the path of server.publicUrl', async () => {
    const files = await readConsole(new URL('../console/dist', import.meta.url).pathname, '/base');
    assert.match(files?.page.bytes.toString() ?? '', /"\/base\/console\/assets\/index-[\w-]+\.js"/u);
  });
});

test('a gateway whose console is off has no such address, and sends browsers to the reference, and has no login by an issuer', async (t) => {
  const off = await startGateway(t, { config: { server: { console: false } } });
  assertProblem(await off.send({ target: '/console' }), 404, 'not-found');
  assert.equal((await off.send({ target: '/', headers: html })).header('location'), '/docs');
  const docs = await off.send({ target: '/docs' });
  assert.deepEqual([docs.status, docs.header('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(docs.header('content-security-policy') ?? '', /^default-src 'none';/u);
  assert.match(docs.text, /id="error-unauthenticated"/u);
  assert.deepEqual((await off.send({ target: '/login/issuers' })).json(), { list: [] });
  for (const target of ['/login/oidc', '/login/oidc/callback?code=x&state=y']) {
    assertProblem(await off.send({ target }), 404, 'not-found');
  }
});

test('a console that is not built is no reason not to start', async (t) => {
  const empty = await mkdtemp(`${tmpdir()}/console-`);
  t.after(() => rm(empty, { recursive: true }));
  assert.equal(await readConsole(empty, ''), undefined);
});
