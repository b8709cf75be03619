// suite: long

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type * as client from '../../client/src/gateway.ts';
import { startGateway, testPassword } from '../support/gateway/start-gateway.ts';
import { noChromium, startChromium } from './chromium.ts';

// The client as its users get it: packed, installed, called from JavaScript and from TypeScript, in Node.js and in a browser.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const gateway = await startGateway({ after });

const folder = await mkdtemp(join(tmpdir(), 'gateway-client-'));
after(() => rm(folder, { recursive: true, force: true }));
const installed = join(folder, 'node_modules/@orchestration-gateway/client');
await mkdir(installed, { recursive: true });
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: join(root, 'client') });
const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [
  { readonly filename: string; readonly files: readonly { readonly path: string }[] },
];
await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);

const workflow = `
document: { dsl: '1.0.3', namespace: client, name: short, version: '1.0.0' }
do:
  - only: { set: { serial: 18446744073709551615 } }
`;

async function send(target: string, type: string, body: string): Promise<void> {
  const reply = await gateway.send({ role: 'admin', method: 'POST', target, headers: { 'Content-Type': type }, body });
  assert.ok(reply.status < 300, reply.text);
}
await send('/automation_catalog/workflows', 'application/yaml', workflow);
const nightly = { _id: 'nightly', name: 'Nightly', data: { workflowId: 'client.short' } };
await send('/automation_catalog/import', 'application/x-ndjson', JSON.stringify(nightly));

test('the package has JavaScript, declarations and the README, and no dependencies', async () => {
  const paths = files.map(({ path }) => path);
  assert.ok(paths.includes('README.md'));
  assert.deepEqual(
    paths.filter((path) => !/^(?:package\.json|README\.md|dist\/[\w/.-]+\.(?:js|d\.ts))$/u.test(path)),
    [],
  );
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    readonly dependencies?: object;
  };
  assert.equal(dependencies, undefined);
});

test('npm install of the folder builds the package', async (t) => {
  const project = await mkdtemp(join(tmpdir(), 'gateway-project-'));
  t.after(() => rm(project, { recursive: true, force: true }));
  await rm(join(root, 'client/dist'), { recursive: true, force: true });
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  await run('npm', ['install', '--offline', join(root, 'client')], { cwd: project });
  const program = "import { createGateway } from '@orchestration-gateway/client'; console.log(typeof createGateway);";
  const { stdout: printed } = await run(process.execPath, ['--eval', program], { cwd: project });
  assert.equal(printed, 'function\n');
});

test('the five lines of the README work', async () => {
  const readme = await readFile(join(installed, 'README.md'), 'utf8');
  const [, lines = ''] = /```js\n(.+?)```/su.exec(readme) ?? [];
  assert.equal(lines.trim().split('\n').length, 5);
  const program = lines.replace('http://127.0.0.1:3000', gateway.url).replace("'admin'", "'admin-user'");
  await writeFile(join(folder, 'readme.mjs'), program);
  const env = { ...process.env, GATEWAY_PASSWORD: testPassword, NODE_COMPILE_CACHE: '', NODE_TEST_CONTEXT: '' };
  const { stdout, stderr } = await run(process.execPath, ['readme.mjs'], { cwd: folder, env });
  assert.equal(stderr, '');
  assert.match(stdout, /^io\.serverlessworkflow\.workflow\.started\.v1\n/u);
  assert.match(stdout, /"status":"completed".*18446744073709551615/u);
});

test('a TypeScript program gets the types of calls, replies and errors', async () => {
  const program = `
import { createGateway, GatewayError, type ErrorCode, type Run } from '@orchestration-gateway/client';
const gateway = createGateway({ baseUrl: 'http://x', token: 't' });
export const run: Run = (await gateway.readRun({ path: { id: 'x' } })).value;
export const code: ErrorCode | 'no-reply' | 'no-gateway' = new GatewayError('x', { code: 'run-not-found' }).code;
for await (const { name } of gateway.each.listAutomations({ query: { limit: 10 } })) name.trim();
// @ts-expect-error An operation without a body takes none.
void gateway.cancelRun({ path: { id: 'x' }, body: {} });
// @ts-expect-error The path parameter is missing.
void gateway.readRun();
// @ts-expect-error Two kinds of credentials.
createGateway({ baseUrl: 'http://x', token: 't', username: 'u', password: 'p' });
// @ts-expect-error No such code.
export const wrong: ErrorCode = 'no-such-code';
`;
  await writeFile(join(folder, 'program.mts'), program);
  const compilerOptions = { module: 'nodenext', target: 'esnext', strict: true, noEmit: true, types: [], skipLibCheck: false };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.mts'] }));
  await symlink(join(root, 'node_modules/typescript'), join(folder, 'node_modules/typescript'));
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
    (failed: { readonly stdout: string }) => failed,
  );
  assert.equal(stdout, '');
});

test('a browser calls the gateway with its session cookie', { skip: noChromium }, async (t) => {
  const browser = await startChromium(t);
  // The page gets the modules of the package from the origin of the gateway, which has no route for them.
  const page = await browser.newPage({ bypassCSP: true });
  await page.route('**/client/**', async (route) => {
    const file = join(installed, 'dist', new URL(route.request().url()).pathname.slice('/client/'.length));
    await route.fulfill({ contentType: 'text/javascript', body: await readFile(file) });
  });
  await page.goto(`${gateway.url}/docs`);
  const seen = await page.evaluate(async (password) => {
    const module = '/client/gateway.js';
    const { createGateway, GatewayError } = (await import(module)) as typeof client;
    const gateway = createGateway({ baseUrl: location.origin });
    const refused = await gateway.whoami().catch((error: unknown) => error instanceof GatewayError && error.code);
    await gateway.login({ body: { username: 'admin-user', password } });
    const { value: run } = await gateway.runAutomation({ path: { id: 'nightly' }, body: {} });
    const types = [];
    for await (const { value } of gateway.followRun({ path: { id: run.id } })) types.push(value.type);
    return {
      refused,
      user: (await gateway.whoami()).value.username,
      types,
      text: (await gateway.readRun({ path: { id: run.id } })).text,
    };
  }, testPassword);
  assert.deepEqual([seen.refused, seen.user], ['unauthenticated', 'admin-user']);
  assert.equal(seen.types.at(-1), 'io.serverlessworkflow.workflow.completed.v1');
  assert.match(seen.text, /18446744073709551615/u);
});
