// What the gateway loads before a caller comes (docs/decisions/0049-memory-at-rest.md).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { childEnvironment, collect, readyPort } from './support/gateway/gateway-process.ts';
import { configurationOf } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';

interface Loaded {
  readonly packages: ReadonlySet<string>;
  readonly ofNode: readonly string[];
}

/** Starts the source, not the bundle of `npm test`, which has the modules of packages in files of other names. */
const executable = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** What a gateway without callers has loaded until it ends. */
async function loadedAtRest(t: TestContext, url: string): Promise<Loaded> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ config: { store: { url } } })));
  const list = join(directory, 'loaded.json');
  const { NODE_COMPILE_CACHE: _cache, ...environment } = childEnvironment({ LOADED_MODULES: list });
  const hook = new URL('support/gateway/loaded-modules.mjs', import.meta.url).href;
  const child = spawn(process.execPath, [`--import=${hook}`, executable, 'serve'], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await readyPort(child, collect(child));
  child.kill('SIGTERM');
  await ended;
  const { urls, ofNode } = JSON.parse(readFileSync(list, 'utf8')) as { readonly urls: string[]; readonly ofNode: string[] };
  const packages = urls.map((module) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(module)?.[1]);
  return { packages: new Set(packages.filter((name) => name !== undefined)), ofNode };
}

eachStore((store) => {
  test('a gateway at rest has loaded no package that only some gateways or calls need', async (t) => {
    const { packages } = await loadedAtRest(t, storeUrl(await store.fresh(t)));
    assert.ok(packages.has('kysely'));
    assert.equal(packages.has('pg'), store.dialect === 'postgres');
    const rare = [
      'jq-wasm',
      'typebox',
      '@modelcontextprotocol/server',
      'zod',
      '@opentelemetry/sdk-trace',
      '@opentelemetry/resources',
      '@opentelemetry/otlp-transformer',
    ];
    assert.deepEqual(
      rare.filter((name) => packages.has(name)),
      [],
    );
  });
});

test('a gateway that starts again has loaded neither the compiler of TypeScript nor fetch and HTTP/2 of Node', async (t) => {
  // Fills the cache of compiled modules.
  await loadedAtRest(t, 'sqlite:./gateway.db');
  const { ofNode } = await loadedAtRest(t, 'sqlite:./gateway.db');
  assert.ok(ofNode.some((name) => name.endsWith('internal/modules/typescript')));
  const unwanted = ['internal/deps/amaro/dist/index', 'internal/deps/undici/undici', 'internal/http2/core'];
  assert.deepEqual(
    unwanted.filter((end) => ofNode.some((name) => name.endsWith(end))),
    [],
  );
});
