import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { SqliteSessions } from './sqlite-sessions.ts';

async function sessionsOf(t: TestContext, kind: 'read' | 'write'): Promise<SqliteSessions> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-store-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'a.db');
  new DatabaseSync(file).close();
  const sessions = new SqliteSessions({ file, kind, cache: 1024 });
  t.after(() => sessions.close());
  return sessions;
}

test('groups that wait for the writer of a file take turns, however many callers one of them has', async (t) => {
  const sessions = await sessionsOf(t, 'write');
  const held = await sessions.open();
  const order: string[] = [];
  const waiting = ['runs', 'runs', 'runs', undefined].map(async (group) => {
    const session = await sessions.open(group);
    order.push(group ?? 'others');
    session.release();
  });
  held.release();
  await Promise.all(waiting);
  assert.deepEqual(order, ['runs', 'others', 'runs', 'runs']);
});

async function readOne(sessions: SqliteSessions): Promise<void> {
  const session = await sessions.open();
  assert.equal((await session.run('select 1 as one', [])).rows.length, 1);
  session.release();
}

async function passFiveSeconds(t: TestContext): Promise<void> {
  t.mock.timers.tick(5_000);
  await setImmediate();
}

test('a reader that nothing used for five seconds ends, and the one in use goes on', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const sessions = await sessionsOf(t, 'read');
  const opened = await Promise.all([sessions.open(), sessions.open(), sessions.open()]);
  for (const session of opened) session.release();
  await passFiveSeconds(t);
  assert.equal(sessions.figures().idle, 3);
  await readOne(sessions);
  await passFiveSeconds(t);
  assert.equal(sessions.figures().idle, 1);
  await readOne(sessions);
});

test('a writer that nothing used for five seconds ends, and starts again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const sessions = await sessionsOf(t, 'write');
  await readOne(sessions);
  await passFiveSeconds(t);
  await passFiveSeconds(t);
  assert.equal(sessions.figures().idle, 0);
  await readOne(sessions);
});

test('short questions that come at the same time share one reader', async (t) => {
  const sessions = await sessionsOf(t, 'read');
  await readOne(sessions);
  await Promise.all(Array.from({ length: 8 }, () => readOne(sessions)));
  assert.equal(sessions.figures().idle, 1);
});

test('a question waits for no reader that another one keeps', async (t) => {
  const sessions = await sessionsOf(t, 'read');
  const kept = await sessions.open();
  await readOne(sessions);
  kept.release();
  assert.equal(sessions.figures().idle, 2);
});
