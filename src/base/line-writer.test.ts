import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
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

test('lines are written in order, a tenth of a second later, at once when asked, and those of the last moment at the end', async (t) => {
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

test('where nothing can be written lines wait, the end does not, and nothing throws', {
  skip: !existsSync('/dev/full'),
}, async (t) => {
  const descriptor = openSync('/dev/full', 'w');
  t.after(() => closeSync(descriptor));
  const lines = new LineWriter({ descriptor, room, lostLine });
  lines.write('one\n');
  lines.flush();
  await new Promise((resolve) => setTimeout(resolve, 250));
  lines.write('two\n');
  const begun = performance.now();
  lines.end();
  assert.ok(performance.now() - begun < 500);
});

test('what cannot be written waits as long as there is room; the rest is lost, and a line says how many there were', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lines-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const name = join(directory, 'pipe');
  execFileSync('mkfifo', [name]);
  const reading = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  const descriptor = openSync(name, constants.O_WRONLY | constants.O_NONBLOCK);
  const lines = new LineWriter({ descriptor, room, lostLine });
  const line = `${'x'.repeat(1023)}\n`;
  // A pipe holds 64 KiB, and takes no more while nobody reads.
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
  // Its reader has left: what is written now is for nobody.
  lines.write('more\n');
  lines.flush();
  await new Promise((resolve) => setTimeout(resolve, 50));
  lines.write('more\n');
  lines.end();
  closeSync(descriptor);
});
