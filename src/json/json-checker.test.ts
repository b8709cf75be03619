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

/** What all variants say, which must be what the scanner of requests says. */
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

test('a checker says of a text in any chunking what the scanner of requests says', () => {
  const text = fc.oneof(
    jsonText.map((node) => node.text),
    brokenJsonText,
  );
  fc.assert(
    fc.property(text, chunkSizes, (any, sizes) => assertAgreed(Buffer.from(any), sizes)),
    { numRuns: 3000 },
  );
});

test('so it does of each single byte, and of each behind the beginnings of all tokens', () => {
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
      // Cut everywhere it goes byte by byte, whole and within a list token by token.
      assertAgreed(text, [1]);
      assertAgreed(Buffer.concat([Buffer.from('[0,'), text, Buffer.from(' ]')]), [100]);
    }
  }
});

test('a text longer than what a program takes at once is checked whole', () => {
  const long = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'é"\\'.repeat(index % 7) })));
  assertAgreed(Buffer.from(long), [1_000_000]);
  assertAgreed(Buffer.from(`${long.slice(0, -9)}x${long.slice(-9)}`), [200_000]);
});

test('nesting up to a million is accepted, and one level more refused where it begins', () => {
  assertAgreed(Buffer.from('['.repeat(1_000_000) + ']'.repeat(1_000_000)), [500_000]);
  for (const checker of checkers) {
    checker.begin();
    assert.throws(() => checker.push(Buffer.alloc(1_000_001, '[')), { kind: 'depth', offset: 1_000_000 });
  }
});
