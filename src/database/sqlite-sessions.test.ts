import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SqliteSessions } from './sqlite-sessions.ts';

test('groups that wait for the writer of a file take turns, however many callers one of them has', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-store-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const sessions = new SqliteSessions({ file: join(directory, 'a.db'), kind: 'write', cache: 1024 });
  t.after(() => sessions.close());
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
