import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { noLog } from '#base/log.ts';
import { until } from '../../../test/support/until.ts';
import { callers, directory, load, only } from '../load-config.test-support.ts';
import { ConfigError, type LoadedConfig, loadConfig } from '../load-config.ts';
import { SecretSources } from './secret-sources.ts';

const withPassword = (reference: string): string =>
  `${callers}adapters: [{ name: A, kind: nso, url: "http://a", auth: { type: basic, username: gw, password: ${reference} } }]`;

function passwordOf({ config }: LoadedConfig): string {
  const { auth } = config.adapters[0] ?? {};
  return auth?.type === 'basic' ? auth.password.reveal() : '';
}

/** A program that runs by its name in the folder of the configuration. */
function program(text: string): Readonly<Record<string, string>> {
  return { 'program.sh': `#!/bin/sh\n${text}\n` };
}
const run = '{ exec: [/bin/sh, program.sh, "a b; echo no"], timeout: 1s }';

test('a credential is a file in the folder that systemd names', async (t) => {
  const folder = await directory(t);
  writeFileSync(join(folder, 'nso'), 'swordfish\n');
  const env = { CREDENTIALS_DIRECTORY: folder };
  assert.equal(passwordOf(await load(t, withPassword('{ credential: nso }'), { env })), 'swordfish');
  await only(t, withPassword('{ credential: other }'), /password\.credential: the file .*other does not exist/u, { env });
  await only(t, withPassword('{ credential: ../nso }'), /is no name of a credential/u, { env });
  await only(t, withPassword('{ credential: nso }'), /needs the environment variable CREDENTIALS_DIRECTORY/u);
});

test('a program gives what it prints without a final line break, has no shell, and of the environment three variables', async (t) => {
  const env = { PATH: '/usr/bin:/bin', HOME: '/h', LANG: 'C', OTHER: 'secret' };
  const shown = await load(t, withPassword(run), { env, files: program('echo "$1|$HOME|$LANG|$OTHER|"') });
  assert.equal(passwordOf(shown), 'a b; echo no|/h|C||');
  const names = await load(t, withPassword('{ exec: [/usr/bin/env] }'), { env }).catch((error: unknown) => error);
  // HTTP Basic takes no line break, and the program prints three lines: so it has run.
  assert.ok(names instanceof ConfigError && /holds a control character/u.test(names.message), String(names));
});

test('the address of the store comes from each kind of source, as secrets do', async (t) => {
  const folder = await directory(t);
  writeFileSync(join(folder, 'store'), 'sqlite:./of-a-credential.db\n');
  const env = { PATH: '/usr/bin:/bin', CREDENTIALS_DIRECTORY: folder, STORE: 'sqlite:./of-a-variable.db' };
  const files = { store: 'sqlite:./of-a-file.db\n' };
  for (const [reference, wanted] of [
    ['{ env: STORE }', 'of-a-variable.db'],
    ['{ file: store }', 'of-a-file.db'],
    ['{ credential: store }', 'of-a-credential.db'],
    ['{ exec: [echo, "sqlite:./of-a-program.db"] }', 'of-a-program.db'],
  ] as const) {
    const { config } = await load(t, `${callers}store: { url: ${reference} }`, { env, files });
    assert.match(config.store.kind === 'sqlite' ? config.store.file : '', new RegExp(`/${wanted}$`, 'u'), reference);
  }
});

test('a program that fails, prints too much or nothing, or does not end is a problem at the start', async (t) => {
  const env = { PATH: '/usr/bin:/bin' };
  const fails = (text: string, expected: RegExp) => only(t, withPassword(run), expected, { env, files: program(text) });
  await fails('echo x; exit 3', /password\.exec: the program "\/bin\/sh" ended with exit code 3$/u);
  await fails(`printf '%0300d' 0 >&2; exit 1`, /exit code 1: 0{200}$/u);
  await fails('head -c 70000 /dev/zero', /printed more than 65536 bytes/u);
  await fails('sleep 60', /did not end within 1000 ms/u);
  await fails(':', /password: is empty/u);
  await fails(String.raw`printf '\377'`, /printed no UTF-8 text/u);
  await only(t, withPassword('{ exec: [./none] }'), /the program ".\/none" does not exist/u);
  await only(t, withPassword('{ exec: [] }'), /needs at least 1 entry/u);
  await only(t, withPassword('{ exec: "echo x" }'), /password\.exec: is text; write a list/u);
  await only(t, withPassword('{ exec: [a], ttl: 0s }'), /password\.ttl/u);
  await only(t, withPassword('{ exec: [a], file: b }'), /write exactly/u);
});

/** A configuration whose password is in a file, loaded as a gateway does, with its sources watched. */
async function watched(t: TestContext, reference: string) {
  const cwd = await directory(t);
  const file = join(cwd, 'password');
  writeFileSync(file, 'one\n');
  writeFileSync(join(cwd, 'gateway.yaml'), withPassword(reference));
  const secrets = new SecretSources();
  const lines: string[] = [];
  const note = (message: string, fields?: { readonly reason?: string | undefined }): void =>
    void lines.push(`${message}: ${fields?.reason ?? ''}`);
  const again = () => loadConfig({ file: 'gateway.yaml', env: { PATH: '/usr/bin:/bin' }, cwd, secrets });
  const loaded = await again();
  const watching = secrets.watch({ ...noLog, warn: note, info: note });
  t.after(() => watching.close());
  return { file, cwd, secrets, lines, again, loaded };
}

test('a file that changes gives its new value without a reload, and one that is away or empty leaves the last', async (t) => {
  const { file, secrets, lines, loaded } = await watched(t, '{ file: password }');
  writeFileSync(file, 'two\n');
  await until('the new value is there', () => passwordOf(loaded) === 'two');
  rmSync(file);
  await until('the file is missed', () => secrets.states()[0]?.failing === true);
  assert.equal(passwordOf(loaded), 'two');
  assert.equal(secrets.failing().failing, 1);
  await until('the value has an age', () => secrets.failing().age > 0);
  writeFileSync(file, '');
  await until('the empty file is seen', () => lines.some((line) => line.includes('is empty')));
  assert.equal(passwordOf(loaded), 'two');
  writeFileSync(file, 'three');
  await until('the file is back', () => passwordOf(loaded) === 'three' && secrets.states()[0]?.failing === false);
  assert.match(
    lines.join('\n'),
    /last good value stays in use: file .*password: the file .*does not exist; the value in use is \d+ s old/u,
  );
  assert.doesNotMatch(lines.join('\n'), /two|three/u);
});

test('a program runs again when its ttl is over', async (t) => {
  const { file, loaded } = await watched(t, '{ exec: [cat, password], ttl: 100ms }');
  writeFileSync(file, 'two\n');
  await until('the new value is there', () => passwordOf(loaded) === 'two');
});

test('a reload while a source is away is a warning with the age, and its value stays; a new source must answer', async (t) => {
  const { file, cwd, again, loaded } = await watched(t, '{ exec: [cat, password] }');
  rmSync(file);
  const reloaded = await again();
  const [warning] = reloaded.warnings;
  assert.equal(warning?.path, 'adapters[0].auth.password.exec');
  assert.match(warning?.message ?? '', /exit code 1; the last good value, \d+ s old, stays in use/u);
  assert.equal(passwordOf(reloaded), 'one');
  writeFileSync(join(cwd, 'gateway.yaml'), withPassword('{ exec: [cat, none] }'));
  // The reply of a reload shows problems: standard error of the program is for the log.
  await assert.rejects(again(), (error: ConfigError) => error.message.endsWith('exit code 1'));
  assert.equal(passwordOf(loaded), 'one');
});

test('a refusal reads a source again, for all at once, and not twice within five seconds', async (t) => {
  const { file, cwd, loaded } = await watched(t, '{ exec: [/bin/sh, -c, "echo >> count; cat password"] }');
  const { auth } = loaded.config.adapters[0] ?? {};
  assert.ok(auth?.type === 'basic');
  writeFileSync(file, 'two\n');
  await Promise.all(Array.from({ length: 20 }, () => auth.password.renew()));
  assert.equal(passwordOf(loaded), 'two');
  writeFileSync(file, 'three\n');
  await auth.password.renew();
  assert.equal(passwordOf(loaded), 'two');
  assert.equal(readFileSync(join(cwd, 'count'), 'utf8'), '\n\n');
});
