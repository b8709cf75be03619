import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createExpressionPool } from '#workflows/jq/expression-pool.ts';
import { readWorkflow } from '#workflows/read-workflow.ts';
import { documentFrom, templates } from './templates.ts';
import { textOver } from './text-over.ts';
import { mediaTypeOf, nextPatch, nextTrial, withVersion } from './version-text.ts';

const pool = createExpressionPool({ threads: 1, timeLimit: 10_000 });
after(() => pool.close());

for (const template of templates) {
  test(`the template "${template.title}" is a workflow without a problem or a warning`, async () => {
    const text = documentFrom(template, { namespace: 'lab', name: 'begun', title: 'Begun: a "title" # here' });
    const reading = await readWorkflow({ text, known: { adapters: ['Local NSO'] }, expressions: pool });
    assert.deepEqual('problems' in reading ? reading.problems : reading.warnings, []);
    assert.ok('workflow' in reading);
    assert.deepEqual([reading.workflow.id, reading.workflow.title], ['lab.begun', 'Begun: a "title" # here']);
    assert.equal(mediaTypeOf(text), 'application/yaml');
  });
}

test('a version for development counts from the newest release, as the command line does', () => {
  for (const [versions, written, expected] of [
    [[], '1.0.0', '1.0.0-dev.1'],
    [[], '2.0.0-rc.1+build', '2.0.0-dev.1'],
    [['1.0.0'], '1.0.0', '1.0.1-dev.1'],
    [['2.0.0-rc.1', '1.9.9', '1.0.0'], '9.9.9', '1.9.10-dev.1'],
    [['1.0.1-dev.12', '1.0.1-dev.3', '1.0.1-dev.x', '1.0.0'], '1.0.0', '1.0.1-dev.13'],
    [['1.0.99999999999999999999'], '1.0.0', '1.0.100000000000000000000-dev.1'],
  ] as const) {
    const [base, number] = nextTrial(versions, written);
    assert.equal(`${base}-dev.${number}`, expected);
  }
  assert.equal(nextPatch('1.4.0+build-7'), '1.4.1');
});

test('a text gets another version, and stays as it was written', () => {
  assert.equal(
    withVersion("# a\ndocument:\n  version: '1.0.0' # kept\ndo: []\n", '2.0.0'),
    '# a\ndocument:\n  version: "2.0.0" # kept\ndo: []\n',
  );
  assert.equal(withVersion('{"document":{"version":"1.0.0","x":1.0}}', '2.0.0'), '{"document":{"version":"2.0.0","x":1.0}}');
  assert.equal(withVersion('document: {}', '2.0.0'), undefined);
});

test('the changes of one person go over the text of another, and the version is a new one', () => {
  const base =
    'document:\n  name: a\n  version: 1.0.0\ndo:\n  - first: { set: { a: 1 } }\n  - second: { set: { b: 1 } }\n  - third: {}\n';
  const theirs = base.replace('1.0.0', "'1.0.1'").replace('a: 1', 'a: 2');
  const mine = base.replace('1.0.0', '1.0.1').replace('  - third: {}', '  - third: { set: { c: 18446744073709551615 } }');
  const expected = theirs
    .replace("'1.0.1'", '"1.0.2"')
    .replace('  - third: {}', '  - third: { set: { c: 18446744073709551615 } }');
  assert.equal(textOver({ base, theirs, mine }, '1.0.2'), expected);
  assert.equal(textOver({ base, theirs, mine: mine.replace('a: 1', 'a: 3') }, '1.0.2'), undefined, 'both changed one line');
});
