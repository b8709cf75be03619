import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogFields, noLog } from '#base/log.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource } from './store-session.ts';
import { logAvailability, watchAvailability } from './watch-availability.ts';

/** A store that rejects with the reason that `refusal` answers, and writes a row with each insert. */
async function watched(refusal: (sql: string) => string | undefined) {
  let time = 0;
  const said: string[] = [];
  const log = {
    ...noLog,
    error: (message: string) => void said.push(message),
    info: (message: string, { reason = '' }: LogFields = {}) => void said.push(`${message}: ${reason}`),
  };
  const source: SessionSource = {
    begin: 'begin',
    open: () =>
      Promise.resolve({
        run(sql) {
          const reason = refusal(sql);
          if (reason !== undefined) return Promise.reject(storeUnavailable(reason));
          return Promise.resolve({ rows: [], ...(sql.startsWith('insert') && { affected: 1 }) });
        },
        release: () => {},
      }),
    figures: () => ({ busy: 0, idle: 0, waiting: 0 }),
    close: () => Promise.resolve(),
  };
  const session = await watchAvailability(
    source,
    logAvailability('the store', log, () => time),
  ).open();
  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const sql of statements) await session.run(sql, []).catch(() => {});
  };
  return { said, run, passes: (milliseconds: number) => void (time += milliseconds) };
}

test('a store that refuses writes is unavailable until a write is committed, although reads succeed', async () => {
  for (const reason of ['SQLite 13', 'SQLite 8', '25006', '42501']) {
    let full = true;
    const { said, run, passes } = await watched((sql) => (full && sql === 'insert' ? reason : undefined));
    for (let round = 0; round < 3; round += 1)
      await run('insert', 'select', 'begin', 'select', 'commit', 'begin', 'insert', 'rollback');
    assert.deepEqual(said, ['the store is unavailable'], reason);
    full = false;
    passes(5_000);
    await run('select', 'begin', 'insert', 'rollback', 'begin', 'select', 'commit');
    assert.equal(said.length, 1, reason);
    await run('begin', 'insert', 'commit');
    assert.deepEqual(said, ['the store is unavailable', 'the store answers again: 6 failures'], reason);
  }
});

test('a store that does not answer is available again with the first statement that succeeds', async () => {
  let away = true;
  const { said, run, passes } = await watched(() => (away ? 'ECONNREFUSED' : undefined));
  await run('select', 'select');
  away = false;
  passes(5_000);
  await run('select', 'select');
  assert.deepEqual(said, ['the store is unavailable', 'the store answers again: 2 failures']);
});

test('a store that fails and answers in turns is unavailable once, until it answers for some seconds', async () => {
  let full = true;
  const { said, run, passes } = await watched((sql) => (full && sql === 'insert' ? '53100' : undefined));
  for (let second = 0; second < 30; second += 1) {
    full = second % 2 === 0;
    await run('begin', 'insert', 'commit');
    passes(1_000);
  }
  assert.deepEqual(said, ['the store is unavailable']);
  passes(4_000);
  await run('begin', 'insert', 'commit');
  assert.deepEqual(said.splice(0), ['the store is unavailable', 'the store answers again: 15 failures']);
  // Soon after an outage, the next one ends after twice the time.
  full = true;
  await run('insert');
  full = false;
  passes(9_999);
  await run('insert');
  assert.deepEqual(said, ['the store is unavailable']);
  passes(1);
  await run('insert');
  assert.equal(said.length, 2);
});
