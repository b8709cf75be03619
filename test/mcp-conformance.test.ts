// suite: long

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../src/base/clock.ts';
import { noLog } from '../src/base/log.ts';
import { openDatabase } from '../src/database/database.ts';
import { agentRoutes } from '../src/http/routes/agent-routes.ts';
import { createHttpServer } from '../src/http/server.ts';
import { accessConfig, openAccess } from './support/gateway/access.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { tokenProxy } from './support/gateway/token-proxy.ts';
import { fixtureDoor } from './support/mcp/fixture-server.ts';
import { sqliteStore } from './support/stores/stores.ts';

// The conformance suite of MCP. It sends no token, so a proxy on loopback adds one.

const suite = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** Runs the suite, and answers its output. Fails with it. */
async function conforms(t: TestContext, url: string, ...options: readonly string[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const child = spawn(process.execPath, [suite, 'server', '--url', `${url}/mcp`, ...options], { cwd: directory });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => void (output += chunk.toString()));
  const code = await new Promise((resolve) => void child.on('close', resolve));
  assert.equal(code, 0, output);
  return output;
}

/** `POST /mcp` of a real front door with real credentials, and the fixtures of the suite behind it. */
async function fixtureMount(t: TestContext): Promise<string> {
  const database = await openDatabase({ store: await sqliteStore.empty(t), log: noLog });
  t.after(() => database.close());
  const { access } = await openAccess(t, { database, clock: systemClock, config: accessConfig() });
  const answer = fixtureDoor(t);
  const server = createHttpServer({
    server: { host: '127.0.0.1', port: 0, requestBodyLimit: 1_048_576, trustedProxies: [] },
    routes: agentRoutes({ door: { answer }, tokenId: async () => undefined, base: '', issuers: () => [] }),
    access,
    admits: () => ({ allowed: true }),
    audit: { record() {}, recordRefusal() {} } as never,
    clock: systemClock,
    log: noLog,
    watcher: { watchConnections() {}, requestStarted() {}, requestEnded() {}, attemptEnded() {} },
    pressure: { overloaded: false, refuse() {}, close() {} },
    rateLimit: () => undefined,
    limitReached: () => {},
  });
  const url = await server.listen();
  t.after(async () => {
    const closed = server.close();
    server.abort();
    await closed;
  });
  return await tokenProxy(t, url, basic('admin', 'right'));
}

for (const revision of ['2025-11-25', '2026-07-28'])
  test(`the mount passes what the revision ${revision} requires, with the fixtures of the suite`, async (t) => {
    const output = await conforms(t, await fixtureMount(t), '--requirements', revision);
    assert.ok((output.match(/=== Running scenario/gu)?.length ?? 0) >= 30, output);
  });

/** Scenarios that need no fixture. */
const own = {
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
    'server-session-lifecycle',
  ],
  '2026-07-28': [
    'tools-list',
    'dns-rebinding-protection',
    'http-header-validation',
    'server-sse-multiple-streams',
    'input-required-result-unsupported-methods',
  ],
};

for (const readOnly of [true, false])
  test(`the tools of the gateway pass the scenarios without fixtures, with readOnly: ${readOnly}`, async (t) => {
    const gateway = await startGateway(t, { config: { mcp: { enabled: true, readOnly } } });
    const url = await tokenProxy(t, gateway.url, gateway.basicFor('admin'));
    for (const [revision, scenarios] of Object.entries(own))
      for (const scenario of scenarios) await conforms(t, url, '--scenario', scenario, '--spec-version', revision, '--force');
  });
