import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '#base/any-text.test-support.ts';
import type { Automation } from './automation.ts';
import { documentText, ownedText } from './automation-row.ts';

// Texts that look like the members that are looked for, whole and in pieces.
const text = fc.oneof(
  anyText(),
  fc
    .array(fc.constantFrom(',"repeatInterval":"', ',', '"', 'repeatInterval', ':', '\\', '}', '"}', ',"lastRunAt":"'), {
      maxLength: 6,
    })
    .map((pieces) => pieces.join('')),
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

test('the text of a document is the text of its parts, in any documents', () => {
  const automation = fc.record({
    _id: text,
    name: text,
    description: optional(text),
    lastModifiedBy: optional(text),
    lastRunAt: optional(fc.constant('2026-01-02T03:04:05.000Z')),
    nextRunAt: optional(fc.constant('2026-01-03T03:04:05.000Z')),
    repeatInterval: optional(fc.constantFrom('1 day', '5 minutes')),
  });
  fc.assert(
    fc.property(automation, ({ description, ...rest }) => {
      const { _id, name, lastModifiedBy, lastRunAt, nextRunAt, repeatInterval } = rest;
      const data = description === undefined ? undefined : { description };
      const whole = { _id, name, data, lastModifiedBy, lastRunAt, nextRunAt, repeatInterval } as Automation;
      assert.equal(documentText(whole), JSON.stringify(whole));
      assert.equal(ownedText(whole), JSON.stringify({ ...whole, lastRunAt: undefined, nextRunAt: undefined }));
    }),
  );
});
