import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

type Level = Parameters<typeof createLog>[0]['level'];

/** What a log at a level writes of one line of each kind. */
function messagesAt(level: Level): string {
  const written: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void written.push(line) } });
  log.setLevel(level);
  assert.equal(log.level, level);
  log.error('error');
  log.warn('warn');
  log.info('info');
  log.debug('debug', () => ({ file: 'x' }));
  log.always('always');
  return written.map((line) => (JSON.parse(line) as { readonly msg: string }).msg).join(' ');
}

const expected: Readonly<Record<Level, string>> = {
  trace: 'error warn info debug always',
  debug: 'error warn info debug always',
  info: 'error warn info always',
  warn: 'error warn always',
  error: 'error always',
  fatal: 'always',
};
for (const [level, messages] of Object.entries(expected)) {
  test(`a log at ${level} writes: ${messages}`, () => assert.equal(messagesAt(level as Level), messages));
}

test('a line is JSON with level, time and message first, without undefined fields, with control characters escaped', () => {
  let line = '';
  const log = createLog({ level: 'info', destination: { write: (text) => (line = text) } });
  log.info('request', { principal: 'a\u0085"', status: undefined, durationMs: 1.5 });
  const { time } = JSON.parse(line) as { readonly time: string };
  assert.equal(new Date(time).toISOString(), time);
  assert.equal(
    line,
    String.raw`{"level":"info","time":"${time}","msg":"request","principal":"a\u0085\"","durationMs":1.5}` + '\n',
  );
  log.info('request');
  assert.match(line, /"msg":"request"\}\n$/u);
});

test('a debug line below the level does not make its fields', () => {
  createLog({ level: 'info', destination: { write() {} } }).debug('attempt', () => assert.fail('the fields were made'));
});

test('warnings and errors start the writing of all waiting lines', () => {
  let flushes = 0;
  const log = createLog({ level: 'info', destination: { write() {}, flush: () => void (flushes += 1) } });
  log.info('one');
  assert.equal(flushes, 0);
  log.warn('two');
  log.error('three');
  assert.equal(flushes, 2);
});
