import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayWidth, fitted, padded, type TextColumn, textTable } from './text-table.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly note?: string;
}

const columns: readonly TextColumn<Row>[] = [
  { title: 'ID', cell: ({ id }) => id, dropped: 1 },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'NOTE', cell: ({ note }) => note, dropped: 2 },
];

test('a table has a title for each column that has a value', () => {
  const rows = [
    { id: '1', name: 'short' },
    { id: '22', name: 'a longer name' },
  ];
  assert.deepEqual(textTable(columns, rows, undefined), ['ID  NAME', '1   short', '22  a longer name']);
});

test('a narrow terminal loses the columns that matter least, then the end of the line', () => {
  const rows = [{ id: '1', name: 'a name of twenty let', note: 'a note' }];
  assert.deepEqual(textTable(columns, rows, 80), ['ID  NAME                  NOTE', '1   a name of twenty let  a note']);
  assert.deepEqual(textTable(columns, rows, 24), ['ID  NAME', '1   a name of twenty let']);
  assert.deepEqual(textTable(columns, rows, 10), ['NAME', 'a name of…']);
});

test('a cell brings no control character to the terminal, and wide characters keep the columns in line', () => {
  const rows = [
    { id: '\u001b[31m', name: 'red' },
    { id: '北京', name: 'wide' },
  ];
  assert.deepEqual(textTable(columns, rows, undefined), ['ID          NAME', '\\u001b[31m  red', '北京        wide']);
});

test('the width of a text counts wide characters twice and combining ones not at all', () => {
  for (const [text, width] of [
    ['', 0],
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['日本', 4],
    ['🚀', 2],
  ] as const)
    assert.equal(displayWidth(text), width, text);
  for (const [text, columnsLeft, kept] of [
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['日本', 3, '日…'],
    ['日本', 2, '…'],
    ['ab', 0, ''],
  ] as const)
    assert.equal(fitted(text, columnsLeft), kept);
  assert.equal(padded('日', 4), '日  ');
});
