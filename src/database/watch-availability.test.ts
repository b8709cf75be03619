import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLog } from '#base/log.ts';
import { storeUnavailable } from './store-failure.ts';
import type { SessionSource } from './store-session.ts';
import { logAvailability, watchAvailability } from './watch-availability.ts';

/** A store that rejects with the reason that `refusal` answers, and writes a row with each insert. */
async function watched(refusal: (sql: string) => string | undefined) {
  const said: string[] = [];
  const log = {
    ...noLog,
    error: (message: string) => void said.push(message),
    info: (message: string) => void said.push(message),
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
  const session = await watchAvailability(source, logAvailability('the store', log)).open();
  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const sql of statements) await session.run(sql, []).catch(() => {});
  };
  return { said, run };
}

test('a store that refuses writes is unavailable until a write is committed, although reads succeed', async () => {
  for (const reason of ['SQLite 13', 'SQLite 8', '25006', '42501']) {
    let full = true;
    const { said, run } = await watched((sql) => (full && sql === 'insert' ? reason : undefined));
    for (let round = 0; round < 3; round += 1)
      await run('insert', 'select', 'begin', 'select', 'commit', 'begin', 'insert', 'rollback');
    assert.deepEqual(said, ['the store is unavailable'], reason);
    full = false;
    await run('select', 'begin', 'insert', 'rollback', 'begin', 'select', 'commit');
    assert.equal(said.length, 1, reason);
    await run('begin', 'insert', 'commit');
    assert.deepEqual(said, ['the store is unavailable', 'the store answers again'], reason);
  }
});

test('a store that does not answer is available again with the first statement that succeeds', async () => {
  let away = true;
  const { said, run } = await watched(() => (away ? 'ECONNREFUSED' : undefined));
  await run('select', 'select');
  away = false;
  await run('select', 'select');
  assert.deepEqual(said, ['the store is unavailable', 'the store answers again']);
});
