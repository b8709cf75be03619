import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMediaType } from './media-type.ts';

const charsets = {
  'text/plain': undefined,
  'text/plain; charset=UTF-8': 'utf-8',
  'text/plain;CharSet = latin1 ; format=flowed': 'latin1',
  'text/plain; format=flowed; charset="us-ascii"': 'us-ascii',
  'text/plain; charset="utf\\-8"': 'utf-8',
  'text/plain; charset=utf-8; charset=latin1': 'utf-8',
  'text/plain; x="; charset=latin1"': undefined,
  'text/plain; x="a \\"; charset=latin1"; charset=utf-8': 'utf-8',
  'text/plain; charset="never ends': undefined,
};

for (const [text, charset] of Object.entries(charsets)) {
  test(`the charset of ${text} is ${charset ?? 'not given'}`, () => {
    assert.deepEqual(readMediaType(text), charset === undefined ? { essence: 'text/plain' } : { essence: 'text/plain', charset });
  });
}

test('a text without type and subtype is no media type', () => {
  for (const text of ['', 'text', 'text/', 'text /plain', 'text/plain charset=utf-8'])
    assert.equal(readMediaType(text), undefined);
});
