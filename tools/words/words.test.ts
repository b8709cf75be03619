import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { subjectProblems } from './commit-subjects.ts';
import { fileProblems } from './file-problems.ts';
import { sentencesOf } from './prose.ts';

const long = `${'word '.repeat(25)}end.`;

/** The lines of a file that have a problem. */
function lines(file: string, text: string): readonly number[] {
  return fileProblems(file, text).map(({ line }) => line);
}

suite('check:words', () => {
  test('a banned word is found in docs, comments, test names and messages, at its line', () => {
    assert.deepEqual(lines('docs/a.md', '# Title\n\nText.\nAsk whoever is there.\n'), [3]);
    assert.deepEqual(lines('src/a.ts', 'const a = 1;\n// Told to nobody.\n'), [2]);
    assert.deepEqual(lines('src/a.ts', '/**\n * Fine.\n *\n * Made anew.\n */\nexport const a = 1;\n'), [4]);
    assert.deepEqual(lines('src/a.test.ts', "test('a caller is told why', () => {});\n"), [1]);
    assert.deepEqual(lines('src/a.ts', 'throw new Error(`The file stands in ${place}.`);\n'), [1]);
    assert.deepEqual(lines('deploy/a.yaml', 'key: 1 # whatever\n#   nobody: a setting\n'), [1]);
  });

  test('a sentence of 26 words is found, one of 25 is not', () => {
    assert.deepEqual(lines('README.md', long), [1]);
    assert.deepEqual(lines('README.md', long.replace('word ', '')), []);
    assert.deepEqual(lines('src/a.ts', `// ${long}\n`), [1]);
  });

  test('a sentence is measured over the lines of its paragraph, and within one cell of a table', () => {
    const half = 'word '.repeat(13);
    assert.deepEqual(lines('README.md', `${half}\n${half}`), [1]);
    assert.deepEqual(lines('README.md', `- ${half}\n- ${half}`), []);
    assert.deepEqual(lines('README.md', `| ${half} | ${half} |`), []);
    assert.deepEqual(lines('src/a.ts', `// ${half}\n// ${half}\n`), [1]);
  });

  test('code, quoted addresses and identifiers are not judged', () => {
    assert.deepEqual(lines('README.md', '```\nwhoever\n```\n\nThe option `whatever` and [a link](https://nobody.example).'), []);
    assert.deepEqual(lines('src/a.ts', 'const whatever = 1;\n'), []);
  });

  test('a sentence ends before a capital letter, a digit or code, not after an abbreviation', () => {
    assert.deepEqual(sentencesOf('One. Two, e.g. this. `three` is code. 4 follows.'), [
      'One.',
      'Two, eg this.',
      'Code is code.',
      '4 follows.',
    ]);
  });

  test('a commit subject of 73 characters is found, one of 72 is not', () => {
    assert.equal(subjectProblems('abc', 'x'.repeat(73)).length, 1);
    assert.equal(subjectProblems('abc', 'x'.repeat(72)).length, 0);
    assert.equal(subjectProblems('abc', 'Read once more').length, 1);
  });
});
