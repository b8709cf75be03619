import assert from 'node:assert/strict';
import { test } from 'node:test';
import { previewedDevices } from './approval-preview.ts';

test('a preview names the devices of its headings, blocks or elements', () => {
  const cases = [
    ['native', '# device ce 0\nhostname ce22\n# device pe1\nno x\n', ['ce 0', 'pe1']],
    ['native', 'hostname device ce0\n', []],
    [
      'cli',
      ' devices {\n     device ce22 {\n         config {\n+            hostname renamed;\n-    device pe1 {\n',
      ['ce22', 'pe1'],
    ],
    [
      'xml',
      '<devices xmlns="x"><device><name>ce0</name><config/></device><device a="1">\n <name>pe1</name></device></devices>',
      ['ce0', 'pe1'],
    ],
    ['none', undefined, []],
  ] as const;
  for (const [kind, text, wanted] of cases) assert.deepEqual(previewedDevices({ kind, text, at: 0 }), wanted);
});

test('a long hostile preview takes no time that grows with its square', () => {
  for (const [kind, part] of [
    ['native', '# device '],
    ['cli', ' + - '],
    ['xml', '<device '],
    ['xml', '<device>   '],
  ] as const)
    assert.equal(previewedDevices({ kind, text: part.repeat(100_000), at: 0 }).length < 2, true);
});
