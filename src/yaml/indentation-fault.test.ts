import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml } from './yaml-text.ts';

const adapters = `adapters:
  - name: Local NSO
    kind: nso
    auth:
      type: basic
      username: admin
    denyPaths:
      actions: []
  - name: Other
    kind: rest
`.split('\n');

function faultsWith(line: number, written: string): readonly string[] {
  const text = adapters.toSpliced(line - 1, 1, written).join('\n');
  return parseYaml(text).faults.map((fault) => `${fault.line}: ${fault.message.replace('is not valid YAML: ', '')}`);
}

test('a key that is indented wrongly is one fault with the places where a key can begin', () => {
  const deeper = 'the line below is indented deeper than this value’s key; indent both keys alike';
  const cases = [
    [3, '  kind: nso', '3: this line begins after 2 spaces; a key can begin here after 4 or 0'],
    [3, '     kind: nso', `2: ${deeper}`],
    [4, '   auth:', '4: this line begins after 3 spaces; a key can begin here after 4 or 0'],
    [6, '       username: admin', `5: ${deeper}`],
    [6, '     username: admin', '6: this line begins after 5 spaces; a key can begin here after 6 or 4 or 0'],
    [7, ' denyPaths:', '7: this line begins after 1 space; a key can begin here after 6 or 4 or 0'],
    [9, '- name: Other', '9: this line begins after 0 spaces; a dash can begin here after 2'],
    [9, '    - name: Other', '9: this line begins after 4 spaces; a dash can begin here after 2'],
    [3, '\tkind: nso', '3: a tab indents this line; use spaces'],
  ] as const;
  for (const [line, written, expected] of cases) assert.deepEqual(faultsWith(line, written), [expected], written);
});

test('a wrong indentation hides no fault of another kind', () => {
  const faults = faultsWith(3, '  kind: nso');
  const both = parseYaml(`${adapters.toSpliced(2, 1, '  kind: nso').join('\n')}last: "\\q"\n`).faults;
  assert.deepEqual([faults.length, both.length], [1, 2]);
  assert.match(both[1]?.message ?? '', /escape/u);
});
