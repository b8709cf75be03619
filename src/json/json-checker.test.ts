import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compileVariant } from '#base/web-assembly.ts';
import { JsonChecker } from './json-checker.ts';
import { JsonScanner, JsonSyntaxError } from './json-scanner.ts';
import { brokenJsonText, chunkSizes, cut, jsonText } from './json-texts.test-data.ts';

const checkers = (['simd', 'plain'] as const).flatMap((variant) => {
  const program = compileVariant(new URL('.', import.meta.url), 'json-check', variant);
  return program === undefined ? [] : [new JsonChecker(program)];
});

function verdict(attempt: () => void): unknown {
  try {
    attempt();
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    const { kind, offset, message } = error;
    return { kind, offset, message: kind === 'syntax' ? message : undefined };
  }
}

/** Asserts that all variants of the checker give the same result as the scanner of requests. */
function assertAgreed(text: Buffer, sizes: readonly number[]): void {
  const expected = verdict(() => {
    const scanner = new JsonScanner({ maxDepth: 1_000_000 });
    for (const chunk of cut(text, sizes)) scanner.push(chunk);
    scanner.end();
  });
  for (const checker of checkers) {
    const said = verdict(() => {
      checker.begin();
      for (const chunk of cut(text, sizes)) checker.push(chunk);
      checker.end();
    });
    assert.deepEqual(said, expected);
  }
}

test('a checker gives the same result as the scanner of requests, in any chunking', () => {
  const text = fc.oneof(
    jsonText.map((node) => node.text),
    brokenJsonText,
  );
  fc.assert(
    fc.property(text, chunkSizes, (any, sizes) => assertAgreed(Buffer.from(any), sizes)),
    { numRuns: 3000 },
  );
});

test('a checker and the scanner agree on every single byte, alone and after the beginning of each token', () => {
  for (const beginning of [
    '',
    '[',
    '{',
    '{"',
    '{"a"',
    '{"a":',
    '{"a":1',
    '[1',
    '1',
    '-',
    '0',
    '1.',
    '1e',
    '1e-',
    '"',
    '"\\',
    '"\\u',
    '"\\u00',
    't',
    'nul',
    '[]',
  ]) {
    for (let byte = 0; byte < 0x100; byte += 1) {
      const text = Buffer.concat([Buffer.from(beginning), Buffer.from([byte])]);
      // Byte by byte for the text alone, and by token for the text whole and within a list.
      assertAgreed(text, [1]);
      assertAgreed(Buffer.concat([Buffer.from('[0,'), text, Buffer.from(' ]')]), [100]);
    }
  }
});

test('a text longer than the input memory of a program is checked completely', () => {
  const long = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'é"\\'.repeat(index % 7) })));
  assertAgreed(Buffer.from(long), [1_000_000]);
  assertAgreed(Buffer.from(`${long.slice(0, -9)}x${long.slice(-9)}`), [200_000]);
});

test('nesting up to a million levels is accepted, and the next level is refused at its first byte', () => {
  assertAgreed(Buffer.from('['.repeat(1_000_000) + ']'.repeat(1_000_000)), [500_000]);
  for (const checker of checkers) {
    checker.begin();
    assert.throws(() => checker.push(Buffer.alloc(1_000_001, '[')), { kind: 'depth', offset: 1_000_000 });
  }
});
