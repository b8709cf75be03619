// suite: long
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { post } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';

// `store.url` from a source of secrets: the password of the database rotates while the gateway runs.

/** The role `gateway` needs its password; the test itself needs none. */
const withPassword = `do $$ begin execute format('copy (select line from unnest(array[%L, %L, %L]) line) to %L',
  'host all gateway 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 trust', 'local all all trust', current_setting('hba_file')); end $$`;

test('a password of the store that rotates fails no query and needs no reload', { skip: noOwnPostgres }, async (t) => {
  const server = await ownPostgres(t);
  await server.run(
    `create role gateway login password 'one'`,
    'create database gateway owner gateway',
    withPassword,
    'select pg_reload_conf()',
  );
  const urlWith = (password: string): string => `postgres://gateway:${password}@127.0.0.1:${server.port}/gateway`;
  const file = temporaryFile(t, 'url', urlWith('one'));
  // The gateway runs the program after a failed login alone.
  const gateway = await startGateway(t, { config: { store: { url: { exec: ['/bin/cat', file], ttl: '1d' } } } });
  const created = (name: string) => post(gateway, '/automation_catalog/automations', { name });
  assert.equal((await created('before')).status, 201);

  await server.run(`alter role gateway password 'two'`);
  writeFileSync(file, urlWith('two'));
  // More than the open connections can take.
  const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => created(`at once ${index}`)));
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
  await server.run(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'gateway'`);
  await until('new connections log in', async () => (await created(`after ${performance.now()}`)).status === 201);
  assert.ok(gateway.stderr.every((line) => !/postgres:\/\/|:two@/u.test(line)));

  // Another database under the same name would be another store: only a restart takes it.
  await server.run(`alter role gateway password 'three'`, 'create database other owner gateway');
  writeFileSync(file, urlWith('three').replace(/gateway$/u, 'other'));
  await server.run(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'gateway'`);
  await until('the store is away', async () => (await created(`away ${performance.now()}`)).status === 503);
  writeFileSync(file, urlWith('three'));
  await until('the store is back', async () => (await created(`back ${performance.now()}`)).status === 201);
});
