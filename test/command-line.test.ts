import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { responseOf, restCall } from './support/callers/calls.ts';
import { openConnection, send } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { command, shell, spawnCommand } from './support/gateway/command.ts';
import { basic, collect, configurationOf, readyPort, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';

// Contract 8: the command line.

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-command-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Ends a child that a test started, whatever became of the test. */
function ends(t: TestContext, child: ChildProcess): void {
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
}

const secret = 'a pass phrase: ü';

describe('serve', () => {
  test('prints one line to standard output when it is ready, and JSON lines to standard error', async (t) => {
    const gateway = await startGateway(t);
    assert.deepEqual(gateway.stdout, [`listening on ${gateway.url}`]);
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    assert.equal(await gateway.stop(), 0);
    assert.deepEqual(gateway.stdout, [`listening on ${gateway.url}`]);
    for (const line of gateway.stderr) assert.equal(typeof JSON.parse(line), 'object', line);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`lets calls in flight finish on ${signal}, takes no new ones, and exits with 0`, async (t) => {
      const far = await farSide(t);
      const gateway = await startGateway(t, { config: { outbound: { allow: [far.authority] } } });
      const waiting: (() => void)[] = [];
      far.answer(async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return jsonReply('{"slow":true}');
      });
      const idle = await openConnection(gateway.port);
      t.after(() => void idle.socket.destroy());
      const calls = Array.from({ length: 5 }, () => restCall(gateway, { uri: far.url, verb: 'GET', responseHeaders: false }));
      await until('the calls', () => waiting.length === 5);
      const stopped = gateway.stop(signal);
      await until('the end of listening', () =>
        send(gateway.port, { target: '/healthz' })
          .then(() => false)
          .catch(() => true),
      );
      for (const finish of waiting) finish();
      for (const call of calls) assert.equal(responseOf(await call), '{"slow":true}');
      assert.equal(await stopped, 0);
    });
  }

  test('says how to get a configuration where there is none, as every command does that needs one', async (t) => {
    for (const words of [['serve'], ['export'], ['import', 'x'], ['audit', 'list'], ['audit', 'verify']]) {
      const { code, stdout, stderr } = await command(words, { directory: temporary(t) });
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, /there is no gateway\.yaml\n/);
      assert.match(stderr, /init/);
    }
  });

  test('does not start on a bad configuration and names every problem with its line and column', async (t) => {
    const directory = temporary(t);
    writeFileSync(join(directory, 'gateway.yaml'), 'server:\n  prot: 1\naccess:\n  users: 5\noutbound:\n  redirects: many\n');
    const { code, stdout, stderr } = await command(['serve'], { directory });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    for (const place of ['gateway.yaml:2:3', 'gateway.yaml:4:10', 'gateway.yaml:6:14']) assert.ok(stderr.includes(place), stderr);
  });

  test('does not start where its port is taken, and says so', async (t) => {
    const far = await farSide(t);
    const directory = temporary(t);
    const file = join(directory, 'gateway.yaml');
    writeFileSync(file, JSON.stringify(configurationOf({ config: { server: { port: far.port } } })));
    const { code, stdout, stderr } = await command(['serve', '--config', file], { directory });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.ok(stderr.includes(`${far.port}`), stderr);
  });

  test('needs no restart of its store: what it created it opens again', async (t) => {
    const gateway = await startGateway(t);
    assert.ok(existsSync(join(gateway.directory, 'gateway.db')));
    const again = await gateway.restart();
    assert.equal((await again.send({ target: '/readyz' })).status, 200);
  });
});

describe('check-config', () => {
  test('accepts a good file and starts nothing', async (t) => {
    const directory = temporary(t);
    const file = join(directory, 'good.yaml');
    writeFileSync(file, JSON.stringify(configurationOf({})));
    const { code, stderr } = await command(['check-config', file]);
    assert.equal(code, 0, stderr);
    assert.ok(!existsSync(join(directory, 'gateway.db')));
  });

  test('names every problem of a bad file at once, with file, line and column, and no secret', async (t) => {
    const directory = temporary(t);
    const file = join(directory, 'bad.yaml');
    writeFileSync(
      file,
      [
        'access:',
        '  users:',
        '    - { username: ann, passwordHash: my-plain-secret, roles: [boss] }',
        'adapters:',
        '  - name: nso',
        '    kind: nsso',
        '    url: ftp://x',
        '    auth: { type: basic, username: u, password: { env: NO_SUCH_VARIABLE_HERE } }',
        'outbound:',
        '  timeouts: { total: 5 minutes }',
        'servre: {}',
      ].join('\n'),
    );
    const { code, stdout, stderr } = await command(['check-config', file]);
    assert.equal(code, 1);
    const told = stdout + stderr;
    for (const line of [3, 6, 7, 8, 10, 11]) assert.match(told, new RegExp(`bad\\.yaml:${line}:\\d+`), told);
    assert.match(told, /NO_SUCH_VARIABLE_HERE/);
    assert.ok(!told.includes('my-plain-secret'), told);
  });

  test('says what is wrong where the file is missing or not named', async () => {
    const missing = await command(['check-config', '/nowhere/at/all.yaml']);
    assert.notEqual(missing.code, 0);
    assert.match(missing.stderr, /\/nowhere\/at\/all\.yaml/);
    assert.notEqual((await command(['check-config'])).code, 0);
  });
});

describe('hash-password', () => {
  test('prints the hash alone; one final new line is not part of the password', async (t) => {
    const hashes: string[] = [];
    for (const input of [secret, `${secret}\n`, `${secret}\n\n`]) {
      const { code, stdout, stderr } = await command(['hash-password'], { input });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+\n$/);
      hashes.push(stdout.trim());
    }
    assert.notEqual(hashes[0], hashes[1]);
    const users = hashes.map((passwordHash, index) => ({ username: `user${index}`, passwordHash, roles: ['admin'] }));
    const gateway = await startGateway(t, { config: { access: { users } } });
    const statusFor = async (user: string, password: string): Promise<number> =>
      (await gateway.send({ target: '/whoami', headers: { Authorization: basic(user, password) } })).status;
    assert.equal(await statusFor('user0', secret), 200);
    assert.equal(await statusFor('user1', secret), 200);
    assert.equal(await statusFor('user2', secret), 401);
    assert.equal(await statusFor('user2', `${secret}\n`), 200);
  });

  test('refuses the empty password', async () => {
    const { code, stdout } = await command(['hash-password'], { input: '\n' });
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
  });
});

describe('init', () => {
  test('writes a commented configuration with which serve works, and shows its password once', async (t) => {
    const directory = temporary(t);
    const made = await command(['init'], { directory });
    assert.equal(made.code, 0, made.stderr);
    const file = join(directory, 'gateway.yaml');
    const text = readFileSync(file, 'utf8');
    assert.match(text, /^\s*#/m);
    assert.equal(statSync(file).mode & 0o077, 0);
    assert.equal((await command(['check-config', 'gateway.yaml'], { directory })).code, 0);
    // The port is the only thing changed: 3000 may be taken where the test runs.
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

describe('--help', { concurrency: 2 }, () => {
  for (const name of ['serve', 'init', 'demo', 'check-config', 'hash-password', 'import', 'export']) {
    test(`explains ${name}`, async () => {
      const { code, stdout } = await command([name, '--help']);
      assert.equal(code, 0);
      assert.ok(stdout.includes(name), stdout);
    });
  }

  test('lists the commands', async () => {
    const { code, stdout } = await command(['--help']);
    assert.equal(code, 0);
    for (const name of ['serve', 'init', 'demo', 'check-config', 'hash-password', 'import', 'export'])
      assert.ok(stdout.includes(name), stdout);
  });

  for (const parameters of [['no-such-command'], ['serve', '--no-such-option'], ['serve', 'extra'], ['serve', '--config']]) {
    test(`is pointed to on wrong usage: ${parameters.join(' ')}`, async () => {
      const { code, stdout, stderr } = await command(parameters);
      assert.notEqual(code, 0);
      assert.equal(stdout, '');
      assert.notEqual(stderr, '');
    });
  }
});

describe('demo', () => {
  test('prints three curl lines that work as they stand', { timeout: 90_000 }, async (t) => {
    // A password that a shell would take apart.
    const password = 'it\'s $HOME `x` "ü"';
    const child = spawnCommand(['demo'], { directory: temporary(t), environment: { GATEWAY_ADMIN_PASSWORD: password } });
    ends(t, child);
    const output = collect(child);
    const port = await readyPort(child, output);
    const printed = (): readonly string[] => curlLines(output.stdout);
    await until('three curl lines', () => printed().length >= 3);
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
    const who = await send(port, { target: '/whoami', headers: { Authorization: basic('admin', password) } });
    assert.equal(who.status, 200);
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });
});

test('a demo where it cannot write says so', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'data'), 'a file');
  const { code, stdout, stderr } = await command(['demo'], { directory });
  assert.deepEqual([code, stdout], [1, '']);
  assert.equal(
    stderr,
    'orchestration-gateway demo: data/demo.yaml cannot be written (EEXIST); run it where this user may write\n',
  );
});

/** The commands in what was printed that begin with curl; a backslash at a line's end continues it. */
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
  test('/healthz says alive and /readyz counts adapters by state, without names', async (t) => {
    const far = await farSide(t);
    const gateway = await startGateway(t, {
      adapters: [{ name: 'Very Secret Name', kind: 'rest', url: far.url, auth: { type: 'none' } }],
    });
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
    const ready = await gateway.send({ target: '/readyz' });
    assert.equal(ready.status, 200);
    assert.match(ready.header('content-type') ?? '', /^application\/json/);
    assert.match(ready.text, /adapters/);
    assert.doesNotMatch(ready.text, /Very Secret Name/);
    assert.ok(!ready.text.includes(`:${far.port}`));
  });

  test('/metrics speaks Prometheus and counts relayed calls', async (t) => {
    const far = await farSide(t);
    const gateway = await startGateway(t, { config: { outbound: { allow: [far.authority] } } });
    responseOf(await restCall(gateway, { uri: `${far.url}/a-path-of-the-far-side`, verb: 'GET', responseHeaders: false }));
    const reply = await gateway.send({ target: '/metrics', role: 'readonly' });
    assert.equal(reply.status, 200);
    assert.match(reply.header('content-type') ?? '', /^text\/plain/);
    assert.match(reply.text, /^# HELP /m);
    assert.match(reply.text, /^# TYPE \S+ (counter|histogram|gauge)$/m);
    assert.match(reply.text, /restCall/);
    // What callers choose is no label: it would grow without bound.
    assert.doesNotMatch(reply.text, /a-path-of-the-far-side/);
    assert.ok(!reply.text.includes(testPassword));
  });

  test('/docs is a page that loads nothing from elsewhere', async (t) => {
    const gateway = await startGateway(t);
    const reply = await gateway.send({ target: '/docs' });
    assert.equal(reply.status, 200);
    assert.match(reply.header('content-type') ?? '', /^text\/html/);
    assert.match(reply.text, /restCall/);
    assert.doesNotMatch(reply.text, /(src|href)\s*=\s*["']?(https?:)?\/\//i);
  });
});
