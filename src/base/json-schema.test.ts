import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as Typebox } from 'typebox';
import { Type } from './json-schema.ts';

type Maker = Pick<typeof Typebox, keyof typeof Type>;

/** One of each, within each other. */
function schemas({ Array, Boolean, Enum, Integer, Literal, Null, Number, Object, Optional, String, Union, Unknown }: Maker) {
  const text = String({ description: 'A text.', maxLength: 9 });
  const members = { text, maybe: Optional(text), count: Integer({ minimum: 0 }), also: Optional(Union([Number(), Null()])) };
  return [
    Object(members, { additionalProperties: false, description: 'An object.' }),
    Object({ maybe: Optional(Boolean()) }),
    Object({ text: Optional(text), again: text }),
    Array(Object({ kind: Literal('a'), any: Unknown({ description: 'Anything.' }) }), { maxItems: 3 }),
    Union([Enum(['a', 'b'], { default: 'a' }), Unknown()], { description: 'Either.' }),
  ];
}

test('schemas equal those of typebox, including the order of keywords', () => {
  assert.equal(JSON.stringify(schemas(Type as unknown as Maker)), JSON.stringify(schemas(Typebox)));
});
