// suite: long

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { array, assert as assertProperty, asyncProperty, constantFrom, oneof } from 'fast-check';
import { anyText } from '#base/text/any-text.test-support.ts';
import { callers, directory, load, only, problemsOf } from './load-config.test-support.ts';
import { ConfigError, loadConfig, loadStoredConfig } from './load-config.ts';

test('a file that is too large, not UTF-8, or nested too deeply is refused', async (t) => {
  await only(t, `#${'x'.repeat(1024 ** 2)}\n`, /is larger than 1048576 bytes/u);
  assert.match((await problemsOf(t, Buffer.from('access: "\xff"', 'latin1')))[0] ?? '', /is not UTF-8 text/u);
  assert.match((await problemsOf(t, `access: ${'['.repeat(20_000)}`))[0] ?? '', /nested too deeply/u);
  const manyKeys = Array.from({ length: 100_001 }, (_, index) => `k${index.toString(36)}: a\n`).join('');
  assert.match((await problemsOf(t, manyKeys))[0] ?? '', /more than 100,000 values/u);
});

test('the limit of values counts each value of a file once, even if several checks read it', async (t) => {
  const hash = '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE';
  const users = Array.from(
    { length: 5_000 },
    (_, at) => `- { username: u${at}, passwordHash: "${hash}", roles: [readonly], groups: [g] }`,
  );
  const { config } = await load(t, `access:\n  users:\n  ${users.join('\n  ')}\n`);
  assert.equal(config.access.users.length, 5_000);
});

test('an alias replaces a whole value; too many aliased values, a missing anchor and a cycle are problems', async (t) => {
  const { config } = await load(
    t,
    `${callers}adapters:
  - { name: A, kind: rest, url: "http://a", timeouts: &patient { total: 1h } }
  - { name: B, kind: rest, url: "http://b", timeouts: *patient }
`,
  );
  assert.equal(config.adapters[1]?.timeouts.total, 3_600_000);
  const urls = Array.from({ length: 1000 }, (_, index) => `"http://h${index}"`).join(', ');
  const bomb = `${callers}adapters:\n  - &a { name: A, kind: rest, urls: [${urls}] }\n${'  - *a\n'.repeat(1000)}`;
  await only(t, bomb, /more than 100,000 values/u);
  await only(t, `${callers}adapters: *nowhere`, /adapters: is an alias \(\*name\) without its anchor/u);
  await only(t, `${callers}adapters: &a [*a]`, /adapters\[0\]: is a list; write a mapping/u);
});

test('repeated keys, tags, other YAML versions and merge keys are refused', async (t) => {
  await only(t, `${callers}server: {}\nserver: { port: 1 }`, /:5:1: server: is given twice/u);
  await only(t, `${callers}server: { host: !name x }`, /server\.host: carries a YAML tag/u);
  await only(t, `${callers}server: { port: !!int 80 }`, /server\.port: carries a YAML tag/u);
  await only(t, `${callers}server: !tag { port: 80 }`, /server: carries a YAML tag/u);
  await only(t, `%YAML 1.1\n---\n${callers}`, /%YAML directive/u);
  await only(t, `${callers}---\nserver: {}`, /a second document/u);
  await only(t, `${callers}server: { <<: { port: 1 } }`, /merge keys/u);
  await only(t, `${callers}server: { host: "a\\uD800" }`, /well-formed Unicode/u);
  await only(t, `${callers}server:\n\tport: 1`, /:5:1: is not valid YAML: a tab/u);
  await only(t, `${callers}server:\n  port: 1\n   host: a`, /:5:9: is not valid YAML: the line below is indented deeper/u);
});

test('a repeated key is named where it is known or allowed, and not where it may be a misplaced secret', async (t) => {
  await only(t, `${callers}  persons: { ann: [admin], ann: [admin] }`, /:4:28: access\.persons\.ann: is given twice/u);
  const problems = await problemsOf(t, `${callers}adapters: [{ name: A, kind: nso, url: "http://a", hunter2, hunter2 }]`);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /adapters\[0\]: holds an unknown key/u);
  assert.doesNotMatch(problems.join(), /hunter2/u);
});

test('a command that opens the store alone ignores the faults of other sections', async (t) => {
  const cwd = await directory(t);
  const read = async (text: string) => {
    await writeFile(join(cwd, 'gateway.yaml'), text);
    return loadStoredConfig({ file: 'gateway.yaml', env: {}, cwd });
  };
  const { config } = await read('access: { users: !x [], users: [] }\nstore: { url: sqlite:a.db }\n');
  assert.equal(config.store.kind === 'sqlite' && config.store.file, join(cwd, 'a.db'));
  await assert.rejects(read('store: { url: !x sqlite:a.db }'), /store\.url: carries a YAML tag/u);
});

test('any text either loads or has problems with a position in the text', async (t) => {
  const cwd = await directory(t);
  const word = constantFrom(
    'server',
    'access',
    'adapters',
    'users',
    '- ',
    ': ',
    '\n',
    '  ',
    '{',
    '}',
    '[',
    ']',
    '*a',
    '&a ',
    '!x ',
    '"',
    "'",
    '|',
    '#',
    'port',
    '3000',
    'off',
    '\t',
    '?',
    '---',
    ',',
  );
  await assertProperty(
    asyncProperty(array(oneof(word, anyText({ maxLength: 4 })), { maxLength: 30 }), async (words) => {
      const text = words.join('');
      await writeFile(join(cwd, 'gateway.yaml'), text);
      const problems = await loadConfig({ file: 'gateway.yaml', env: {}, cwd }).then(
        () => undefined,
        (error: unknown) => (error instanceof ConfigError ? error.problems : Promise.reject(error)),
      );
      if (problems === undefined) return;
      assert.ok(problems.length > 0);
      const lines = text.split('\n').length;
      for (const { line, column, message } of problems)
        assert.ok(line >= 1 && line <= lines + 1 && column >= 1 && message !== '');
    }),
    { numRuns: 100 },
  );
});
