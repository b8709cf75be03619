import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

// docs/security.md lists a hundred faults by number. Each has a test with that number in its name, or the table gives a reason.

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const page = read('docs/security.md');

interface Row {
  readonly number: number;
  readonly meaning: string;
  readonly heldBy: string;
}

const rows: readonly Row[] = page
  .slice(page.indexOf('\n## The rows\n'))
  .split('\n')
  .map((line) => /^\| (\d+) \| (.+) \| (.*) \|$/.exec(line))
  .flatMap((match) => (match === null ? [] : [{ number: Number(match[1]), meaning: match[2] ?? '', heldBy: match[3] ?? '' }]));

/** The row numbers in the test names of a file. */
function rowsNamedIn(file: string): ReadonlySet<number> {
  const titles = read(file).matchAll(/\b(?:describe|suite|test)\(\s*['"`]R(\d+): /g);
  return new Set([...titles].map(([, number]) => Number(number)));
}

const files = globSync('{src,test,demo}/**/*.test.ts', { cwd: root }).filter((file) => !file.endsWith('security-rows.test.ts'));
const named = new Map(files.map((file) => [file, rowsNamedIn(file)]));
const citedIn = ({ heldBy }: Row): readonly string[] =>
  [...heldBy.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file]) => file ?? '');
const isExcused = ({ heldBy }: Row): boolean => /^(?:later, issues? \d|overruled: )/.test(heldBy);

describe('the rows of docs/security.md', () => {
  test('have the numbers 1 to 100, each once, and a meaning', () => {
    assert.deepEqual(
      rows.map(({ number }) => number),
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    for (const { number, meaning } of rows) assert.ok(meaning.length > 5, `row ${number}`);
  });

  test('have a test with their number in its name, or a reason why there is none', () => {
    const without = rows.filter((row) => !isExcused(row) && ![...named.values()].some((numbers) => numbers.has(row.number)));
    assert.deepEqual(
      without.map(({ number }) => `row ${number} has no test whose name begins with "R${number}: "`),
      [],
    );
    for (const { number, heldBy } of rows.filter(isExcused)) assert.ok(heldBy.length > 25, `row ${number} gives no reason`);
  });

  test('with a reason for having no test have no test', () => {
    const tested = rows.filter((row) => isExcused(row) && [...named.values()].some((numbers) => numbers.has(row.number)));
    assert.deepEqual(
      tested.map(({ number }) => number),
      [],
    );
  });

  test('name files with tests of their number', () => {
    for (const row of rows.filter((one) => !isExcused(one))) {
      const cited = citedIn(row);
      assert.ok(cited.length > 0, `row ${row.number} names no file`);
      for (const file of cited) assert.ok(named.get(file)?.has(row.number), `${file} has no test "R${row.number}: "`);
    }
  });

  test('are the only numbers in test names', () => {
    const unknown = [...named].flatMap(([file, numbers]) =>
      [...numbers].filter((number) => number < 1 || number > 100).map((n) => `${file}: R${n}`),
    );
    assert.deepEqual(unknown, []);
  });
});

test('docs/security.md names test files that exist', () => {
  const cited = [...page.matchAll(/`((?:src|test)\/[^`*]+\.test\.ts)`/g)].map(([, file]) => file ?? '');
  assert.ok(cited.length > 100);
  assert.deepEqual(
    [...new Set(cited)].filter((file) => !files.includes(file) && file !== 'test/security-rows.test.ts'),
    [],
  );
});
