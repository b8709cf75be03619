/**
 * 100,000 evaluations of jq, each by itself, in two threads. Among them are expressions that fail, and some that do not end.
 *
 *   node bench/expression-soak.ts [EVALUATIONS]        default 100000
 *
 * Exit code 1 where a result is wrong, or the memory of the process grows by more than 64 MiB after the first tenth.
 */
import assert from 'node:assert/strict';
import { createExpressionPool, type Evaluated } from '../src/workflows/jq/expression-pool.ts';
import { mebibytes } from './process-tree.ts';

const evaluations = Number(process.argv[2] ?? 100_000);
const lanes = 2;
/** MiB. */
const growth = 64;
/** In each lane, one of so many numbers is that of an expression that does not end. */
const runawayEvery = 10_000;

const pool = createExpressionPool({ threads: lanes });
let done = 0;
let limited = 0;
let early = Number.NaN;
const began = performance.now();
await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
const late = mebibytes(process.pid, 'VmRSS');
await pool.close();
const seconds = (performance.now() - began) / 1000;
console.log(`${done} evaluations in ${seconds.toFixed(0)} s, ${limited} of them ended by their limit; every result was right`);
console.log(`memory: ${early.toFixed(0)} MiB after the first tenth, ${late.toFixed(0)} MiB at the end`);
assert.ok(late - early < growth, `the memory grew by ${(late - early).toFixed(0)} MiB`);

/** Evaluates one expression after the other. The number of the lane is in each, so that no two share one start of jq. */
async function work(lane: number): Promise<void> {
  for (let number = lane; number < evaluations; number += lanes) {
    if (number % runawayEvery === lane) {
      const ended = await evaluate(`${lane} | last(repeat(.))`, 'null');
      assert.match(failureOf(ended), /took longer than 1000 ms|memory/u);
      limited += 1;
    } else if (number % 10 === lane)
      assert.equal(failureOf(await evaluate(`${lane} | error("no ${number}")`, 'null')), `no ${number}`);
    else {
      const dot = `{"n":${number},"big":18446744073709551615,"share":1.0}`;
      assert.deepEqual(await evaluate(`[.n + ${lane}, .big, .share]`, dot), {
        results: [`[${number + lane},18446744073709551615,1.0]`],
      });
    }
    done += 1;
    if (done === evaluations / 10) early = mebibytes(process.pid, 'VmRSS');
  }
}

function evaluate(expression: string, dot: string): Promise<Evaluated> {
  return pool.evaluate({ expressions: [expression], dot, variables: {} });
}

function failureOf(evaluated: Evaluated): string {
  assert.ok('detail' in evaluated, 'the expression did not fail');
  return evaluated.detail;
}
