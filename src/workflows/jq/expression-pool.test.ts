// suite: long

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { valueText } from '../../../test/support/callers/json-text.ts';
import { lapse } from '../../../test/support/lapse.ts';
import { createExpressionPool, type Evaluated } from './expression-pool.ts';

const pool = createExpressionPool({ threads: 2, timeLimit: 1_000, memoryLimit: 64 * 1024 ** 2 });
/** For what takes its time on a slow machine. */
const patient = createExpressionPool({ threads: 2, timeLimit: 60_000 });
after(() => Promise.all([pool.close(), patient.close()]));

const evaluate = (
  expressions: string | readonly string[],
  dot = 'null',
  variables: Readonly<Record<string, string>> = {},
): Promise<Evaluated> => pool.evaluate({ expressions: [expressions].flat(), dot, variables });

async function detailOf(expression: string, dot?: string): Promise<string> {
  const evaluated = await evaluate(expression, dot);
  assert.ok('detail' in evaluated, `${expression} did not fail`);
  return evaluated.detail;
}

describe('an expression', () => {
  test('keeps every digit of a number that it does not compute with', async () => {
    const dot = '{"id":18446744073709551615,"share":1.0,"list":[0.10,-0]}';
    assert.deepEqual(await evaluate(['.', '.id', '[.share, $big]'], dot, { big: '340282366920938463463374607431768211456' }), {
      results: [dot, '18446744073709551615', '[1.0,340282366920938463463374607431768211456]'],
    });
  });

  test('gives any JSON value back as a value that is equal to the last digit', async () => {
    await fc.assert(
      fc.asyncProperty(valueText, async (text) => {
        const [first, second] = [await evaluate('.', text), await evaluate('$value', 'null', { value: text })];
        assert.deepEqual(first, second);
        assert.ok('results' in first);
        // jq writes 1e400 as 1E+400, and drops white space and repeated members; a second pass must change nothing.
        assert.deepEqual(await evaluate('.', first.results[0]), first);
      }),
      { numRuns: 100 },
    );
  });

  test('reads a surrogate without its other half as U+FFFD, and a pair as its character', async () => {
    const dot = '["\\uD83D","\\uD83D\\uDE00","\\uDE00","\\\\uD83D","\\ud83dx"]';
    assert.deepEqual(await evaluate('.', dot), { results: ['["\ufffd","😀","\ufffd","\\\\uD83D","\ufffdx"]'] });
  });

  test('must give exactly one result', async () => {
    assert.match(await detailOf('empty'), /gives no result/u);
    assert.match(await detailOf('1, 2'), /gives more than one result/u);
    assert.match(await detailOf('range(1e9)'), /gives more than one result/u);
  });

  test('that fails is named, with the message of jq, and those before it do not hide it', async () => {
    assert.deepEqual(await evaluate(['1', '.a', '3'], '[]'), { failed: 1, detail: 'Cannot index array with string ("a")' });
    assert.equal(await detailOf('error("no device")'), 'no device');
    assert.equal(await detailOf('error({"code":1})'), 'the expression raised {"code":1}');
    assert.equal(await detailOf('error(null)'), 'the expression raised an error without a message');
  });

  test('may end with a comment', async () => {
    assert.deepEqual(await evaluate('.a # the device', '{"a":1}'), { results: ['1'] });
  });

  test('sees no environment, no further input and nothing of the process', async () => {
    assert.deepEqual(await evaluate(['env', '$ENV', '$__gateway'], '1', { secret: '"s"' }), { results: ['{}', '{}', 'null'] });
    for (const name of [
      'input',
      '[inputs]',
      'debug',
      'debug("x")',
      'stderr',
      'halt',
      'halt_error',
      'halt_error(1)',
      'input_filename',
    ])
      assert.match(await detailOf(name), /is not available in an expression/u, name);
  });
});

describe('an expression that does not end', () => {
  test('is ended after its second, and the next one is evaluated', async () => {
    assert.equal(await detailOf('def f: f; f'), 'the expression took longer than 1000 ms');
    assert.match(await detailOf('[range(1e9)] | length'), /took longer than|memory/u);
    assert.deepEqual(await evaluate('1 + 1'), { results: ['2'] });
  });

  test('holds up no other: they are evaluated in the threads that remain', async () => {
    const two = createExpressionPool({ threads: 2, timeLimit: 60_000 });
    let ended = false;
    const runaway = two.evaluate({ expressions: ['def f: f; f'], dot: 'null', variables: {} }).catch(() => {});
    void runaway.then(() => (ended = true));
    for (let count = 0; count < 20; count += 1) await two.evaluate({ expressions: ['1'], dot: 'null', variables: {} });
    assert.equal(ended, false);
    // Its thread would take a processor until the end of all tests of this process.
    await two.close();
  });

  test('waits for a thread without losing time of its own', async () => {
    const small = createExpressionPool({ threads: 1, timeLimit: 400 });
    try {
      const results = await Promise.all([
        small.evaluate({ expressions: ['def f: f; f'], dot: 'null', variables: {} }),
        small.evaluate({ expressions: ['7'], dot: 'null', variables: {} }),
      ]);
      assert.ok('detail' in results[0]);
      assert.deepEqual(results[1], { results: ['7'] });
    } finally {
      await small.close();
    }
  });
});

test('an expression that takes more memory than its limit is a failure, and the next one is evaluated', async () => {
  const [large, next] = ['"x" * 100000000 | length', '1 + 1'].map((expression) => ({
    expressions: [expression],
    dot: 'null',
    variables: {},
  }));
  assert.ok(large !== undefined && next !== undefined);
  assert.deepEqual(await patient.evaluate(large), {
    failed: 0,
    detail: 'the expression could not be evaluated within 64 MiB of memory',
  });
  assert.deepEqual(await patient.evaluate(next), { results: ['2'] });
});

test('a document of one megabyte is evaluated', async () => {
  const list = Array.from({ length: 23_000 }, (_, id) => `{"id":${id},"name":"device ${id}","share":1.0}`).join(',');
  assert.deepEqual(await patient.evaluate({ expressions: ['length'], dot: `[${list}]`, variables: {} }), { results: ['23000'] });
});

describe('evaluations of one program that wait together', () => {
  const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => String(index));
  const wait = async (
    expressions: readonly string[],
    dots: readonly string[],
    timeLimit = 60_000,
  ): Promise<readonly Evaluated[]> => {
    const one = createExpressionPool({ threads: 1, timeLimit });
    try {
      return await Promise.all(dots.map((dot) => one.evaluate({ expressions, dot, variables: { place: dot } })));
    } finally {
      await one.close();
    }
  };

  test('get each its own result, in batches of any size', async () => {
    const dots = Array.from({ length: 200 }, (_, index) => JSON.stringify({ index, text: `${'x'.repeat(index * 40)}\n` }));
    const found = await wait(['.index + 1', '$place', '[.]'], dots);
    assert.deepEqual(
      found,
      dots.map((dot, index) => ({ results: [String(index + 1), dot, `[${dot}]`] })),
    );
  });

  test('fail each for itself', async () => {
    const found = await wait(
      ['.', 'if . == 2 then empty elif . == 3 then error("no") elif . == 4 then 1, 2 else . end'],
      numbers(7),
    );
    const details = found.map((one) => ('failed' in one ? `${one.failed} ${one.detail}` : one.results.join(' ')));
    assert.deepEqual(details, [
      '0 0',
      '1 1',
      '1 the expression gives no result; it must give exactly one',
      '1 no',
      '1 the expression gives more than one result; it must give exactly one',
      '5 5',
      '6 6',
    ]);
  });

  test('are not spoiled by one that takes too much memory', async () => {
    const found = await wait(['"x" * (if . == 3 then 100000000 else . + 1 end) | length'], numbers(6));
    assert.deepEqual(
      found.map((one) => ('failed' in one ? one.detail : one.results[0])),
      ['1', '2', '3', 'the expression could not be evaluated within 64 MiB of memory', '5', '6'],
    );
  });

  test('cannot read each other', async () => {
    for (const expression of ['input', '[inputs]', 'first(inputs)', 'reduce inputs as $one (0; . + 1)']) {
      for (const one of await wait([expression], numbers(6))) assert.ok('failed' in one, expression);
    }
  });
});

describe('problemOf', () => {
  const problem = (expression: string): Promise<string | undefined> => pool.problemOf(expression, ['device']);

  test('accepts an expression that compiles, and does not run it', async () => {
    for (const expression of ['.a', '$device.name', 'def f: 1; f', '"\\(.a)"', 'error("x")', 'def f: f; f', '.a # comment'])
      assert.equal(await problem(expression), undefined, expression);
  });

  test('says what jq says of one that does not compile', async () => {
    assert.equal(await problem('.a | devcie'), 'devcie/0 is not defined');
    assert.equal(await problem('$devcie'), '$devcie is not defined');
    assert.match((await problem('if .a then 1')) ?? '', /^syntax error, unexpected end of file/u);
  });

  test('refuses an expression that would end the parentheses around it, import a module, or is none', async () => {
    for (const expression of [
      '.a) | (.b',
      'import "a" as a; .',
      'include "a"; .',
      'def f: 1;',
      '',
      '# comment',
      '1 #) | (\n) , (2',
    ])
      assert.notEqual(await problem(expression), undefined, expression);
  });
});

test('a closed pool rejects evaluations, also those in progress', async () => {
  const closing = createExpressionPool({ threads: 1 });
  await closing.evaluate({ expressions: ['1'], dot: 'null', variables: {} });
  const running = assert.rejects(closing.evaluate({ expressions: ['def f: f; f'], dot: 'null', variables: {} }), /closed/u);
  await lapse(50, 'the evaluation is under way');
  await closing.close();
  await running;
  await assert.rejects(closing.evaluate({ expressions: ['1'], dot: 'null', variables: {} }), /closed/u);
});
