// suite: long

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { responseOf, restCall } from './support/callers/calls.ts';
import { send } from './support/callers/http-client.ts';
import { command, shell, spawnCommand } from './support/gateway/command.ts';
import { collect, readyPort } from './support/gateway/gateway-process.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { basic, configurationOf, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { upstream } from './support/upstreams/upstream.ts';

// The executable as a process: docs/reference/command-line.md. src/cli/cli.test.ts has each command in more detail.

const far = await upstream({ after });
const adapters = [{ name: 'Very Secret Name', kind: 'rest', url: far.url, auth: { type: 'none' } }];
const config = { outbound: { allow: [far.authority] } };
const gateway = await startGateway({ after }, { adapters, config });

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-command-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Ends a child process after the test. */
function ends(t: TestContext, child: ChildProcess): void {
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
}

const secret = 'a pass phrase: ü';

describe('serve', () => {
  test('prints one line when it is ready and JSON lines to standard error, and starts again on its store', async (t) => {
    const first = await startGateway(t);
    assert.deepEqual(first.stdout, [`listening on ${first.url}`]);
    assert.equal((await first.send({ target: '/healthz' })).status, 200);
    assert.equal(await first.stop(), 0);
    assert.deepEqual(first.stdout, [`listening on ${first.url}`]);
    for (const line of first.stderr) assert.equal(typeof JSON.parse(line), 'object', line);
    assert.ok(existsSync(join(first.directory, 'gateway.db')));
    const again = await first.restart();
    assert.equal((await again.send({ target: '/readyz' })).status, 200);
  });

  test('says how to get a configuration where there is none, like every command that needs one', async (t) => {
    for (const words of [['serve'], ['check-config'], ['audit', 'verify']]) {
      const { code, out, err } = await runCommandLine(t, words);
      assert.equal(code, 1);
      assert.equal(out, '');
      assert.match(err, /there is no gateway\.yaml\n/);
      assert.match(err, /init/);
    }
    const { code, stderr } = await command(['serve'], { directory: temporary(t) });
    assert.equal(code, 1);
    assert.match(stderr, /there is no gateway\.yaml\n/);
  });

  test('does not start on a bad configuration and names every problem with its line and column', async (t) => {
    const directory = temporary(t);
    writeFileSync(join(directory, 'gateway.yaml'), 'server:\n  prot: 1\naccess:\n  users: 5\noutbound:\n  redirects: many\n');
    const { code, stdout, stderr } = await command(['serve'], { directory });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    for (const place of ['gateway.yaml:2:3', 'gateway.yaml:4:10', 'gateway.yaml:6:14']) assert.ok(stderr.includes(place), stderr);
  });

  test('does not start where its port is taken, and names the port', async (t) => {
    const directory = temporary(t);
    const file = join(directory, 'gateway.yaml');
    writeFileSync(file, JSON.stringify(configurationOf({ config: { server: { port: far.port } } })));
    const { code, stdout, stderr } = await command(['serve', '--config', file], { directory });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.ok(stderr.includes(`${far.port}`), stderr);
  });
});

describe('check-config', () => {
  test('accepts a valid file and creates no store', async (t) => {
    const directory = temporary(t);
    const file = join(directory, 'good.yaml');
    writeFileSync(file, JSON.stringify(configurationOf({})));
    const { code, stderr } = await command(['check-config', file]);
    assert.equal(code, 0, stderr);
    assert.ok(!existsSync(join(directory, 'gateway.db')));
  });
});

describe('hash-password', () => {
  test('prints only the hash, and the password without its final newline logs in', async () => {
    const { code, stdout, stderr } = await command(['hash-password'], { input: `${secret}\n` });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+\n$/);
    await reloadWith(gateway, { adapters, config, users: [{ username: 'ann', passwordHash: stdout.trim(), roles: ['admin'] }] });
    assert.equal((await gateway.send({ target: '/whoami', headers: { Authorization: basic('ann', secret) } })).status, 200);
  });
});

describe('init', () => {
  test('writes a configuration with comments with which serve works, and prints its password once', async (t) => {
    const directory = temporary(t);
    const made = await command(['init'], { directory });
    assert.equal(made.code, 0, made.stderr);
    const checked = await shell(`cd ${directory} && ${/^ {2}(.* check-config)$/mu.exec(made.stdout)?.[1]}`);
    assert.deepEqual(checked, { code: 0, stdout: 'gateway.yaml: ok\n', stderr: '' });
    const file = join(directory, 'gateway.yaml');
    const text = readFileSync(file, 'utf8');
    assert.match(text, /^\s*#/m);
    assert.equal(statSync(file).mode & 0o077, 0);
    assert.equal((await command(['check-config', 'gateway.yaml'], { directory })).code, 0);
    // The test changes only the port: 3000 may be taken.
    writeFileSync(
      file,
      /^\s+port:/m.test(text)
        ? text.replace(/^(\s+)port: \d+/m, '$1port: 0')
        : text.replace(/^server:.*$/m, 'server:\n  port: 0'),
    );
    const child = spawnCommand(['serve'], { directory });
    ends(t, child);
    const port = await readyPort(child, collect(child));
    const [, password = ''] = /^\s+password\s+(\S+)$/m.exec(made.stdout) ?? [];
    const { status } = await send(port, { target: '/whoami', headers: { Authorization: basic('admin', password) } });
    assert.equal(status, 200, made.stdout);
    assert.ok(!text.includes(password));
    const again = await command(['init'], { directory });
    assert.notEqual(again.code, 0);
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });
});

describe('--help', () => {
  test('lists the commands', async () => {
    const { code, stdout } = await command(['--help']);
    assert.equal(code, 0);
    for (const name of ['serve', 'init', 'demo', 'check-config', 'hash-password', 'import', 'export'])
      assert.ok(stdout.includes(name), stdout);
  });
});

describe('wrong usage', () => {
  test('ends the process with the exit code', async () => {
    const { code, stdout, stderr } = await command(['serve', '--no-such-option']);
    assert.deepEqual([code, stdout], [2, '']);
    assert.notEqual(stderr, '');
  });
});

describe('demo', () => {
  test('prints three curl commands and the run of an automation, which work unchanged', { timeout: 90_000 }, async (t) => {
    // A shell would split this password or expand parts of it.
    const password = 'it\'s $HOME `x` "ü"';
    const child = spawnCommand(['demo'], { directory: temporary(t), environment: { GATEWAY_ADMIN_PASSWORD: password } });
    ends(t, child);
    const output = collect(child);
    const port = await readyPort(child, output);
    const printed = (): readonly string[] => curlLines(output.stdout);
    await until('the last line', () => output.stdout.includes('Ctrl-C stops both.'));
    assert.equal(printed().length, 3, output.stdout.join('\n'));
    const routes: string[] = [];
    for (const line of printed()) {
      const { code, stdout, stderr } = await shell(line);
      assert.equal(code, 0, `${line}\n${stderr}`);
      const route = /\/(restQuery|restAction|restCall)\b/.exec(line)?.[1] ?? line;
      routes.push(route);
      assert.doesNotMatch(stdout, /problem|"code":/, `${line}\n${stdout}`);
      const body = stdout.slice(Math.max(0, stdout.search(/^[[{]/m)));
      const value = JSON.parse(body) as
        | { readonly result?: readonly object[]; readonly response?: string }
        | readonly { readonly result: string }[];
      if (Array.isArray(value)) assert.equal(typeof value[0]?.result, 'string');
      else if ('response' in value) assert.equal(typeof value.response, 'string');
      else assert.ok('result' in value && value.result.length > 0, stdout);
    }
    assert.deepEqual(routes.sort(), ['restAction', 'restCall', 'restQuery']);
    const run = output.stdout.find((line) => line.includes(' run ')) ?? '';
    const followed = await shell(run);
    assert.equal(followed.code, 0, `${run}\n${followed.stdout}${followed.stderr}`);
    assert.match(followed.stdout, /^completed after /mu);
    const who = await send(port, { target: '/whoami', headers: { Authorization: basic('admin', password) } });
    assert.equal(who.status, 200);
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });
});

describe('a demo that starts again in its folder', () => {
  /** What a demo prints until its last line, after which it is stopped. */
  async function printedBy(t: TestContext, directory: string): Promise<string> {
    const child = spawnCommand(['demo'], { directory });
    ends(t, child);
    const output = collect(child);
    await readyPort(child, output);
    await until('the last line', () => output.stdout.includes('Ctrl-C stops both.'));
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
    return output.stdout.join('\n');
  }

  test('keeps its passwords and its data, says so, and lets no other user read its files', { timeout: 90_000 }, async (t) => {
    const directory = temporary(t);
    mkdirSync(join(directory, 'data'));
    for (const name of ['demo.yaml', 'demo-passwords.json']) {
      writeFileSync(join(directory, 'data', name), '{}');
      chmodSync(join(directory, 'data', name), 0o666);
    }
    const [first, second] = [await printedBy(t, directory), await printedBy(t, directory)];
    for (const name of ['demo.yaml', 'demo-passwords.json'])
      assert.equal(statSync(join(directory, 'data', name)).mode & 0o777, 0o600, name);
    const logins = (text: string): readonly (string | undefined)[] =>
      [...text.matchAll(/user (\w+), password (\w+)/gu)].map(([, user, password]) => `${user} ${password}`);
    assert.match(logins(first).join(), /^admin \w{22},lea \w{22},gateway \w{22}$/u);
    assert.deepEqual(logins(second), logins(first));
    assert.doesNotMatch(first, /has kept the data/u);
    assert.match(second, /The gateway has kept the data of earlier demos in data\//u);
  });

  test('says that its port is taken', { timeout: 90_000 }, async (t) => {
    const blocker = createServer();
    const taken = await new Promise<boolean>((resolve) => {
      blocker.once('error', () => resolve(true));
      blocker.listen(3000, '127.0.0.1', () => resolve(true));
    });
    t.after(() => blocker.close());
    assert.ok(taken);
    assert.match(
      await printedBy(t, temporary(t)),
      /Another program uses port 3000, so the gateway has another port: http:\/\/\S+/u,
    );
  });
});

test('the demo names the file that it cannot write', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'data'), 'a file');
  const { code, stdout, stderr } = await command(['demo'], { directory });
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(
    stderr,
    'orchestration-gateway demo: data/demo.yaml cannot be written (EEXIST); start the demo in a directory where this user may write\n',
  );
});

/** The printed commands that begin with curl; a backslash at the end of a line continues the command. */
function curlLines(lines: readonly string[]): readonly string[] {
  const commands: string[] = [];
  let open: string | undefined;
  for (const line of lines) {
    const text: string | undefined = open === undefined ? /^\s*(curl .*)$/.exec(line)?.[1] : `${open}\n${line}`;
    if (text === undefined) continue;
    open = text.endsWith('\\') ? text : undefined;
    if (open === undefined) commands.push(text);
  }
  return commands;
}

describe('the operator’s routes', () => {
  test('/healthz answers 200 and /readyz counts adapters by state, without names', async () => {
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    const ready = await gateway.send({ target: '/readyz' });
    assert.equal(ready.status, 200);
    assert.match(ready.header('content-type') ?? '', /^application\/json/);
    assert.match(ready.text, /adapters/);
    assert.doesNotMatch(ready.text, /Very Secret Name/);
    assert.ok(!ready.text.includes(`:${far.port}`));
  });

  test('/metrics has the Prometheus text format and counts relayed calls', async () => {
    responseOf(await restCall(gateway, { uri: `${far.url}/a-path-of-the-upstream`, verb: 'GET', responseHeaders: false }));
    const reply = await gateway.send({ target: '/metrics', role: 'readonly' });
    assert.equal(reply.status, 200);
    assert.match(reply.header('content-type') ?? '', /^text\/plain/);
    assert.match(reply.text, /^# HELP /m);
    assert.match(reply.text, /^# TYPE \S+ (counter|histogram|gauge)$/m);
    assert.match(reply.text, /restCall/);
    // A value that callers choose is no label: the number of time series would have no limit.
    assert.doesNotMatch(reply.text, /a-path-of-the-upstream/);
    assert.ok(!reply.text.includes(testPassword));
  });
});
