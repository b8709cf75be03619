import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { median, quantile, slope } from './figures.ts';
import { processorSeconds } from './process-tree.ts';
import { startSurroundings } from './speed/answering-upstream.ts';
import { barChart } from './speed/chart.ts';
import { table } from './speed/report.ts';
import { pairOf } from './speed/rounds.ts';
import type { Subject } from './speed/subjects.ts';

test('a median is that of the sorted values, and leaves their order as it was', () => {
  const values = [10, 9, 100];
  assert.equal(median(values), 10);
  assert.deepEqual(values, [10, 9, 100]);
  assert.equal(median([]), 0);
});

test('a quantile is one of the values, at most the greatest', () => {
  const values = Array.from({ length: 100 }, (_, index) => index);
  assert.equal(quantile(values, 0.99), 99);
  assert.equal(quantile(values, 1), 99);
});

test('a slope is that of the line of least squares', () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: 200 + 1.5 * x + (x % 3 === 0 ? 0.1 : -0.1) }));
  assert.ok(Math.abs(slope(points) - 1.5) < 0.05);
  assert.equal(slope([{ x: 1, y: 1 }]), 0);
});

test('a table has a head, a line below it, and one line a row', () => {
  assert.equal(table(['a', 'b'], [['1', '2']]), '| a | b |\n| --- | --- |\n| 1 | 2 |');
});

test('each process of a row is measured with each process of the floor equally often', () => {
  const processes = (...pids: readonly number[]): readonly Subject[] => pids.map((pid) => ({ pid }) as Subject);
  for (const subjects of [processes(1, 2, 3), processes(1)]) {
    const row = { name: '', route: 'restQuery' as const, subjects, floors: processes(7, 8, 9) };
    const pairs = Array.from({ length: 9 }, (_, round) =>
      pairOf(row, round)
        .map(({ pid }) => pid)
        .join(),
    );
    const expected = subjects.flatMap(({ pid }) => [7, 8, 9].map((floor) => `${pid},${floor}`));
    assert.deepEqual([...new Set(pairs)].toSorted(), expected);
    assert.equal(pairs.filter((pair) => pair === expected[0]).length, 9 / expected.length);
  }
});

test('names in a chart are escaped', () => {
  assert.match(barChart('<x>', [{ name: 'a & b', value: 1, own: true }], 1.25), /&lt;x>[\s\S]*a &amp; b/u);
});

test('the processor time of a process counts its children', { skip: process.platform !== 'linux' }, async (t) => {
  const child = spawn('sh', ['-c', `${process.execPath} -e 'while (process.cpuUsage().user < 150_000);'; read line`]);
  t.after(() => child.kill('SIGKILL'));
  const patience = Date.now() + 60_000;
  while (processorSeconds(child.pid ?? 0) < 0.1 && Date.now() < patience) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(processorSeconds(child.pid ?? 0) >= 0.1);
});

test('a measurement fails where the upstream did not get one call for each reply', async (t) => {
  const surroundings = await startSurroundings(t);
  const call = async (): Promise<void> => void (await (await fetch(`${surroundings.upstream}/status`)).arrayBuffer());
  await surroundings.exactly(async () => {
    await call();
    return { calls: 1 };
  });
  for (const calls of [0, 2]) {
    const miscounted = surroundings.exactly(async () => {
      await call();
      return { calls };
    });
    await assert.rejects(miscounted, new RegExp(`^Error: ${calls} calls were answered, but 1 came to the upstream$`, 'u'));
  }
});
