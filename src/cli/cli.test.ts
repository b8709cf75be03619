// suite: long

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { matchesPassword, parsePasswordHash } from '#access/passwords/password-hash.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import { loadConfig } from '#config/load-config.ts';
import { type CliRun, runCommandLine } from '../../test/support/gateway/run-command-line.ts';
import { commands } from './cli.ts';
import { commandHelp, programHelp } from './texts/help.ts';

test('the help goes to standard error without a command, and to standard output with --help', async (t) => {
  assert.deepEqual(pick(await runCommandLine(t, [])), { code: 2, out: '', err: programHelp(commands) });
  assert.deepEqual(pick(await runCommandLine(t, ['--help'])), { code: 0, out: programHelp(commands), err: '' });
  assert.deepEqual(pick(await runCommandLine(t, ['-h'])), { code: 0, out: programHelp(commands), err: '' });
});

test('--version prints the version, and the first word of several commands with --help prints the help of each', async (t) => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  assert.deepEqual(pick(await runCommandLine(t, ['--version'])), { code: 0, out: `${version}\n`, err: '' });
  assert.deepEqual(pick(await runCommandLine(t, ['audit', '--help'])), { code: 0, out: programHelp(commands), err: '' });
});

test('every command prints its help with --help, also after invalid arguments', async (t) => {
  for (const command of commands) {
    for (const argv of [
      [...command.name.split(' '), '--help'],
      [...command.name.split(' '), '-h'],
      [...command.name.split(' '), 'a', 'b', '--nonsense', '--help'],
    ]) {
      assert.deepEqual(pick(await runCommandLine(t, argv)), { code: 0, out: commandHelp(command), err: '' });
    }
  }
});

test('an unknown command, option or argument is refused with the nearest known one', async (t) => {
  for (const [argv, expected] of [
    [['serv'], /unknown command "serv"; did you mean "serve"\?/u],
    [['--config', 'x'], /unknown option "--config"/u],
    [['constructor'], /unknown command "constructor"/u],
    [['audit'], /audit is the first word of several commands: audit list, audit show, audit verify\n/u],
    [['serve', '--confg', 'x'], /serve: unknown option --confg; did you mean "--config"\?\nUsage: /u],
    [['serve', '-c', 'x'], /unknown option -c/u],
    [['serve', '--constructor'], /unknown option --constructor/u],
    [['serve', '--config'], /--config needs a value: --config FILE/u],
    [['serve', '--config='], /--config needs a value/u],
    [['serve', '--config', '--verbose'], /--config needs a value/u],
    [['serve', '--config', 'a', '--config', 'b'], /--config is given twice/u],
    [['serve', '--help=x'], /--help takes no value/u],
    [['serve', 'a.yaml', 'b.yaml'], /unexpected argument "b.yaml"/u],
    [['serve', 'a.yaml', '--config', 'b.yaml'], /"a.yaml" and --config name the same thing; keep one of the two/u],
    [['serve', ''], /FILE is empty/u],
    [['hash-password', 'secret'], /unexpected argument "secret"/u],
    [['import'], /FILE is missing/u],
    [['import', 'a', 'b'], /unexpected argument "b"/u],
    [['check-config', 'a', 'b'], /unexpected argument "b"/u],
    [['check-workflow'], /FILE… is missing/u],
  ] as const) {
    const { code, out, err } = await runCommandLine(t, argv);
    assert.deepEqual([code, out], [2, ''], argv.join(' '));
    assert.match(err, expected);
  }
});

test('hash-password prints only the hash, and ignores one final newline of the password', async (t) => {
  for (const [input, password] of [
    ['open sesame', 'open sesame'],
    ['open sesame\n', 'open sesame'],
    ['open sesame\r\n', 'open sesame'],
    ['open sesame\n\n', 'open sesame\n'],
    [' pässword ', ' pässword '],
    ['x'.repeat(1024), 'x'.repeat(1024)],
  ] as const) {
    const { code, out, err } = await runCommandLine(t, ['hash-password'], {
      stdin: Readable.from([Buffer.from(input).subarray(0, 3), Buffer.from(input).subarray(3)]),
    });
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^\$argon2id\$[^\n]+\n$/u);
    const hash = parsePasswordHash(out.trimEnd());
    assert.ok(hash !== undefined && (await matchesPassword(password, hash)), JSON.stringify(input));
  }
});

test('hash-password refuses a password that no login accepts', async (t) => {
  for (const [input, expected] of [
    [Buffer.from(''), /the password is empty/u],
    [Buffer.from('\n'), /the password is empty/u],
    [Buffer.from('x'.repeat(1025)), /longer than 1024 bytes/u],
    [Buffer.from('x'.repeat(100_000)), /longer than 1024 bytes/u],
    [Buffer.from([0x61, 0xff]), /not UTF-8/u],
  ] as const) {
    const { code, out, err } = await runCommandLine(t, ['hash-password'], { stdin: Readable.from([input]) });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, expected);
  }
});

test('hash-password asks twice on a terminal, on standard error and without echo', async (t) => {
  const typed = async (...lines: readonly string[]): Promise<CliRun> => {
    const stdin = new PassThrough();
    for (const line of lines) stdin.write(line);
    return runCommandLine(t, ['hash-password'], { stdin, isTerminal: true });
  };
  const { code, out, err } = await typed('open sesame\r', 'open sesame\r');
  assert.deepEqual([code, err], [0, 'Password: \nAgain: \n']);
  const hash = parsePasswordHash(out.trimEnd());
  assert.ok(hash !== undefined && (await matchesPassword('open sesame', hash)));

  const different = await typed('open sesame\r', 'open sesam\r');
  assert.deepEqual([different.code, different.out], [1, '']);
  assert.match(different.err, /the two passwords differ/u);

  const interrupted = await typed('open\u0003');
  assert.deepEqual([interrupted.code, interrupted.out], [1, '']);
  assert.match(interrupted.err, /no password was entered/u);
});

const configuration = 'access: { tokenLifetime: 2h }\n';

test('check-config prints ok or every problem, and warnings do not change the exit code', async (t) => {
  const good = await runCommandLine(t, ['check-config', 'g.yaml'], { files: { 'g.yaml': configuration } });
  assert.deepEqual([good.code, good.out], [0, 'g.yaml: ok\n']);
  assert.match(good.err, /^g\.yaml:1:9: access: .*no caller can authenticate.* \(warning\)\n$/u);
  const bad = await runCommandLine(t, ['check-config', 'g.yaml'], { files: { 'g.yaml': 'server: { port: x, hots: y }\n' } });
  assert.deepEqual([bad.code, bad.out, bad.err.split('\n').length], [1, '', 4]);
  assert.match(bad.err, /^g\.yaml:1:1: access: .*\ng\.yaml:1:17: server\.port: .*\ng\.yaml:1:20: server\.hots: .*\n$/u);
  const missing = await runCommandLine(t, ['check-config', 'none.yaml']);
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /there is no none\.yaml\n/u);
});

const audit: AuditReader = {
  list: async () => ({ list: [] }),
  body: async () => undefined,
  verify: async () => ({
    problems: [],
    lost: [],
    chains: 0,
    records: 0,
    checkpoints: 0,
    from: undefined,
    to: undefined,
    next: undefined,
  }),
};

test('every command with a configuration takes FILE, --config FILE, or gateway.yaml by default', async (t) => {
  for (const words of [['check-config'], ['serve'], ['audit', 'verify']]) {
    for (const name of ['my.yaml', 'gateway.yaml']) {
      const given = { files: { [name]: configuration }, audit };
      for (const more of [[name], ['--config', name], ...(name === 'my.yaml' ? [] : [[]])]) {
        const { code, err } = await runCommandLine(t, [...words, ...more], given);
        assert.equal(code, 0, `${[...words, ...more].join(' ')}: ${err}`);
      }
    }
  }
});

test('audit verify needs no secret, no certificate and no valid key outside the store', async (t) => {
  const files = {
    'gateway.yaml': [
      'server: { tls: { certFile: none.pem, keyFile: none.pem } }',
      'store: { url: { env: STORE_URL } }',
      'outbound: { timeouts: { total: 40s }, unknownKey: 1 }',
      'adapters: [{ name: a, kind: nso, auth: { type: bearer, token: { env: NOT_SET } }, timeouts: { total: 50s } }]',
    ].join('\n'),
  };
  const given = { files, audit, env: { STORE_URL: 'sqlite:./my.db' } };
  const { code, err, opened, cwd } = await runCommandLine(t, ['audit', 'verify'], given);
  assert.equal(code, 0, err);
  assert.deepEqual(opened?.store, { kind: 'sqlite', file: join(cwd, 'my.db'), startTimeout: 60_000 });
  assert.deepEqual([opened?.outbound.timeouts.total, opened?.adapters[0]?.timeouts.total], [40_000, 50_000]);
  const { code: refused, err: why } = await runCommandLine(t, ['audit', 'verify'], { ...given, env: {} });
  assert.equal(refused, 1);
  assert.match(why, /^gateway\.yaml:2:\d+: store\.url\.env: the environment variable STORE_URL is not set/u);
  assert.equal((await runCommandLine(t, ['serve'], { files })).code, 1);
});

test('serve passes on the loaded configuration, by default of gateway.yaml', async (t) => {
  const { code, served } = await runCommandLine(t, ['serve'], { files: { 'gateway.yaml': configuration } });
  assert.deepEqual(
    [code, served.length, served[0]?.configFile, served[0]?.config.access.tokenLifetime],
    [0, 1, 'gateway.yaml', 7_200_000],
  );
  assert.equal(served[0]?.warnings.length, 1);
  const named = await runCommandLine(t, ['serve', '--config=other.yaml'], { files: { 'other.yaml': configuration } });
  assert.equal(named.served[0]?.configFile, 'other.yaml');
});

test('serve without a configuration says how to make one, and starts nothing with an invalid one', async (t) => {
  const missing = await runCommandLine(t, ['serve']);
  assert.deepEqual([missing.code, missing.served], [1, []]);
  assert.match(
    missing.err,
    /there is no gateway\.yaml\n.*"npx orchestration-gateway init".*--config FILE.*"npx orchestration-gateway demo"/u,
  );
  const bad = await runCommandLine(t, ['serve'], { files: { 'gateway.yaml': 'x: 1' } });
  assert.deepEqual([bad.code, bad.served], [1, []]);
  assert.match(bad.err, /gateway\.yaml:1:1: x: is unknown/u);
});

test('init writes a valid configuration that only its owner can read, and shows the password once', async (t) => {
  const { code, out, err, cwd } = await runCommandLine(t, ['init']);
  assert.deepEqual([code, err], [0, '']);
  const password = /password {2}(\S+)/u.exec(out)?.[1] ?? '';
  assert.ok(password.length >= 20);
  assert.match(out, /\n {2}npx orchestration-gateway check-config\n {2}npx orchestration-gateway serve\n/u);
  assert.match(
    await readFile(join(cwd, 'gateway.yaml'), 'utf8'),
    /Check this file with: npx orchestration-gateway check-config/u,
  );
  assert.equal((await stat(join(cwd, 'gateway.yaml'))).mode & 0o777, 0o600);
  assert.ok(!(await readFile(join(cwd, 'gateway.yaml'), 'utf8')).includes(password));
  const { config, warnings } = await loadConfig({ file: 'gateway.yaml', env: {}, cwd });
  assert.deepEqual(warnings, []);
  const [admin] = config.access.users;
  assert.deepEqual([admin?.username, admin?.roles], ['admin', ['admin']]);
  const hash = parsePasswordHash(admin?.passwordHash ?? '');
  assert.ok(hash !== undefined && (await matchesPassword(password, hash)));
});

test('init never overwrites a file, and says how to write another', async (t) => {
  const { code, out, err, cwd } = await runCommandLine(t, ['init'], { files: { 'gateway.yaml': 'precious' } });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /gateway\.yaml exists and was not changed; name another file with --config FILE/u);
  assert.equal(await readFile(join(cwd, 'gateway.yaml'), 'utf8'), 'precious');
  const elsewhere = await runCommandLine(t, ['init', '--config', 'my.yaml'], { files: { 'gateway.yaml': 'precious' } });
  assert.match(elsewhere.out, /Wrote my\.yaml[\s\S]*serve --config my\.yaml/u);
  assert.match(
    (await runCommandLine(t, ['init', '--config', 'no/my.yaml'])).err,
    /the directory of no\/my\.yaml does not exist/u,
  );
});

test('demo takes its password from GATEWAY_ADMIN_PASSWORD, where that is not empty', async (t) => {
  const invocation = 'npx orchestration-gateway';
  const given = await runCommandLine(t, ['demo'], { env: { GATEWAY_ADMIN_PASSWORD: 'open sesame' } });
  assert.deepEqual(given.demonstrated, [{ adminPassword: 'open sesame', invocation }]);
  for (const env of [{}, { GATEWAY_ADMIN_PASSWORD: '' }]) {
    assert.deepEqual((await runCommandLine(t, ['demo'], { env })).demonstrated, [{ adminPassword: undefined, invocation }]);
  }
});

test('check-workflow prints ok or every problem of each file, and warnings do not change the exit code', async (t) => {
  const workflow = (task: string): string =>
    `document: { dsl: 1.0.3, namespace: lab, name: sync, version: 1.0.0 }\ndo:\n  - first:\n      ${task}\n`;
  const files = {
    'good.yaml': workflow('set: { text: "for ${ .name }" }'),
    'good.json': '{"document":{"dsl":"1.0.0","namespace":"lab","name":"a","version":"1.0.0"},"do":[{"first":{"wait":"PT1S"}}]}',
    'bad.yaml': workflow('set: { a: "${ .b | c }" }\n      them: end'),
  };
  const good = await runCommandLine(t, ['check-workflow', 'good.yaml', 'good.json'], { files });
  assert.deepEqual([good.code, good.out], [0, 'good.yaml: ok\ngood.json: ok\n']);
  assert.match(
    good.err,
    /^good\.yaml:4:20: \/do\/0\/first\/set\/text: has \$\{ \} within a longer text.* \(warning\)\n {10}set: \{ text: .*\n {23}\^\n$/u,
  );

  const bad = await runCommandLine(t, ['check-workflow', 'bad.yaml', 'none.yaml', 'good.json'], { files });
  assert.deepEqual([bad.code, bad.out], [1, 'good.json: ok\n']);
  assert.match(bad.err, /^bad\.yaml:4:17: \/do\/0\/first\/set\/a: calls "c", which is no function of jq/u);
  assert.match(
    bad.err,
    /\nbad\.yaml:5:7: \/do\/0\/first\/them: is unknown here; did you mean "then"\?\n {10}them: end\n {10}\^\n/u,
  );
  assert.match(bad.err, /\nnone\.yaml:1:1: the file .*none\.yaml does not exist\n$/u);
});

function pick({ code, out, err }: CliRun): Pick<CliRun, 'code' | 'out' | 'err'> {
  return { code, out, err };
}

/** A standard output that cannot be written. */
function broken(code: 'ENOSPC' | 'EPIPE'): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
}

test('a standard output that cannot be written gives an error without a stack trace, and init then leaves no file', async (t) => {
  for (const argv of [['--help'], ['--version'], ['init', '--help'], ['check-config', 'gateway.yaml'], ['hash-password']]) {
    const given = { files: { 'gateway.yaml': 'access: {}\n' }, stdin: Readable.from(['secret']) };
    const full = await runCommandLine(t, argv, { ...given, stdout: broken('ENOSPC') });
    assert.deepEqual([full.code, full.err.includes('standard output cannot be written (ENOSPC)\n')], [1, true], argv.join(' '));
    const left = await runCommandLine(t, argv, { ...given, stdin: Readable.from(['secret']), stdout: broken('EPIPE') });
    assert.equal(left.code, 0, argv.join(' '));
  }
  const init = await runCommandLine(t, ['init'], { stdout: broken('ENOSPC') });
  assert.deepEqual([init.code, existsSync(join(init.cwd, 'gateway.yaml'))], [1, false]);
  assert.match(init.err, /the password could not be shown, so gateway\.yaml was removed/u);
});

test('an argument after --help or --version and a repeated flag are refused', async (t) => {
  for (const argv of [
    ['--version', 'x'],
    ['-h', 'x'],
    ['audit', 'list', '--ndjson', '--ndjson'],
  ]) {
    const { code, err } = await runCommandLine(t, argv);
    assert.equal(code, 2, argv.join(' '));
    assert.match(err, /unexpected argument "x"|--ndjson is given twice/u);
  }
});

test('demo refuses a password that a login would refuse', async (t) => {
  const { code, err, demonstrated } = await runCommandLine(t, ['demo'], { env: { GATEWAY_ADMIN_PASSWORD: 'x'.repeat(1025) } });
  assert.deepEqual([code, demonstrated], [1, []]);
  assert.match(err, /GATEWAY_ADMIN_PASSWORD is longer than 1024 bytes/u);
});

test('mcp-config prints JSON for each client, with the address of the gateway and without a token', async (t) => {
  const env = { GATEWAY_URL: 'https://gateway.example.net/base/', GATEWAY_TOKEN: 'secret-token' };
  for (const client of ['claude-code', 'claude-desktop', 'vscode', 'cursor']) {
    const { code, out } = await runCommandLine(t, ['mcp-config', '--client', client], { env });
    assert.equal(code, 0);
    assert.match(JSON.stringify(JSON.parse(out)), /"https:\/\/gateway\.example\.net\/base\/mcp"/u, client);
    assert.doesNotMatch(out, /secret-token/u);
  }
  const all = await runCommandLine(t, ['mcp-config', '--url', 'http://127.0.0.1:3000']);
  assert.deepEqual(
    [...all.out.matchAll(/^# ([^:]+):/gmu)].map(([, title]) => title),
    ['Claude Code', 'Claude Desktop', 'Visual Studio Code', 'Cursor'],
  );
  assert.equal((await runCommandLine(t, ['mcp-config', '--url', 'gateway'])).code, 2);
  assert.equal((await runCommandLine(t, ['mcp-config', '--client', 'emacs'])).code, 2);
});
