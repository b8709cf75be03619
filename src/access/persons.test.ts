import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPersons } from './persons.ts';

const at = (subject: string): string => `oidc:["https://idp","${subject}"]`;
const one = (id: string, username = id) => ({ id, username });

const persons = createPersons({ ann: ['ann', 'ann-cli', at('4711')] });
const { isSame } = persons;

test('two principals of an entry are one person, with any names', () => {
  assert.ok(isSame(one('ann-cli'), one(at('4711'), 'a.miller')));
  assert.ok(isSame(one(at('4711'), 'a.miller'), one('ann')));
  assert.equal(isSame(one('ann'), one('bob')), false);
  assert.equal(isSame(one(at('4712'), 'bob'), one(at('4711'), 'a.miller')), false);
});

test('equal names are one person: without regard to case and width, and without the suffix of the issuer', () => {
  for (const name of ['Bob', 'BOB', 'ｂｏｂ', 'bob@https://idp']) assert.ok(isSame(one(at('1'), name), one('bob')), name);
  assert.ok(isSame(one(at('1'), 'STRASSE'), one('straße')));
  assert.ok(isSame(one(at('1'), 'ΣΟΦΟΣ'), one('σοφος')));
  for (const name of ['bob@https://other', 'bobby', 'b0b']) assert.equal(isSame(one(at('1'), name), one('bob')), false, name);
});

test('a name that one of the principals of an entry has counts for all of them', () => {
  assert.ok(isSame(one(at('9'), 'ann@https://idp'), one('ann-cli')));
  assert.ok(isSame(one('ann-cli'), one(at('9'), 'Ann')));
});

test('limits count a person by its entry, and not by its name', () => {
  assert.deepEqual(persons.idsOf('ann-cli'), ['ann', 'ann-cli', at('4711')]);
  assert.deepEqual(persons.idsOf('bob'), ['bob']);
  assert.deepEqual(persons.idsOf('constructor'), ['constructor']);
});
