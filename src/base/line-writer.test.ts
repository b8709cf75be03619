import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lapse } from '../../test/support/lapse.ts';
import { until } from '../../test/support/until.ts';
import { LineWriter } from './line-writer.ts';

const room = 512 * 1024;
const lostLine = (count: number): string => `lost ${count}\n`;

function file(t: { after(work: () => void): void }): { readonly descriptor: number; readonly text: () => string } {
  const directory = mkdtempSync(join(tmpdir(), 'lines-'));
  const name = join(directory, 'log');
  const descriptor = openSync(name, 'a');
  t.after(() => {
    closeSync(descriptor);
    rmSync(directory, { recursive: true });
  });
  return { descriptor, text: () => readFileSync(name, 'utf8') };
}

test('lines are written in order: after a tenth of a second, at a flush, and at the end of the process', async (t) => {
  const { descriptor, text } = file(t);
  const lines = new LineWriter({ descriptor, room, lostLine });
  lines.write('one\n');
  assert.equal(text(), '');
  await until('the first is written', () => text() === 'one\n');
  const long = `${'x'.repeat(1000)}\n`;
  for (let count = 0; count < 200; count += 1) lines.write(long);
  lines.flush();
  await until('the others are written', () => text().length === 4 + 200 * 1001);
  lines.write('last\n');
  lines.end();
  assert.ok(text().endsWith('last\n'));
});

test('a full disk lets lines wait; the end of the process does not wait for it, and nothing throws', {
  skip: !existsSync('/dev/full'),
}, async (t) => {
  const descriptor = openSync('/dev/full', 'w');
  t.after(() => closeSync(descriptor));
  const lines = new LineWriter({ descriptor, room, lostLine });
  lines.write('one\n');
  lines.flush();
  await lapse(250, 'the writer tries the full disk');
  lines.write('two\n');
  const begun = performance.now();
  lines.end();
  assert.ok(performance.now() - begun < 500);
});

test('lines that cannot be written wait while there is room; a line reports how many others were lost', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lines-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const name = join(directory, 'pipe');
  execFileSync('mkfifo', [name]);
  const reading = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const descriptor = openSync(name, constants.O_WRONLY | constants.O_NONBLOCK);
  const lines = new LineWriter({ descriptor, room, lostLine });
  const line = `${'x'.repeat(1023)}\n`;
  // A pipe holds 64 KiB and takes no more until they are read.
  for (let count = 0; count < 600; count += 1) lines.write(line);
  let read = '';
  const chunk = Buffer.alloc(1024 ** 2);
  await until('the last line is there', () => {
    try {
      read += chunk.toString('latin1', 0, readSync(reading, chunk));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
    }
    return read.includes('lost');
  });
  const [lost] = /lost (\d+)\n$/u.exec(read)?.slice(1) ?? [];
  assert.equal(read.split('\n').filter((each) => each.startsWith('x')).length + Number(lost), 600);
  closeSync(reading);
  // The pipe has no reader any more: these lines are dropped.
  lines.write('more\n');
  lines.flush();
  await lapse(50, 'the lines are dropped');
  lines.write('more\n');
  lines.end();
  closeSync(descriptor);
});
