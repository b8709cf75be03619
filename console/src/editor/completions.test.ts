import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workflowLanguage } from '#workflows/language.ts';
import { completionsAt } from './completions.ts';

const language = JSON.parse(JSON.stringify(workflowLanguage())) as Parameters<typeof completionsAt>[2]['language'];
const adapters = [
  { name: 'Local NSO', kind: 'nso' },
  { name: 'yes: no', kind: 'rest' },
];
const document = {
  use: { functions: { greet: {} }, retries: { often: {} } },
  do: [
    { first: { call: 'restCall', with: { params: { path: 'here/a' } } } },
    { loop: { for: { each: 'device', in: '.d' }, do: [{ inner: {} }] } },
    { safe: { try: [{ tried: {} }], catch: { as: 'fault' } } },
  ],
};

/** What is offered at `|`, in short; undefined for nothing. */
function offered(marked: string): readonly string[] | undefined {
  const cursor = marked.indexOf('|');
  return completionsAt(marked.replace('|', ''), cursor, { language, adapters, document })?.options.map(({ apply }) => apply);
}

const has = (marked: string, wanted: readonly string[], others: readonly string[] = []): void => {
  const found = offered(marked) ?? [];
  for (const text of wanted) assert.ok(found.includes(text), `${marked}: ${text} is not in ${found.join()}`);
  for (const text of others) assert.ok(!found.includes(text), `${marked}: ${text} is in ${found.join()}`);
};

test('members are offered where they belong, without those that are there', () => {
  assert.deepEqual(offered('|'), ['document: ', 'input: ', 'use: ', 'do: ', 'timeout: ', 'output: ', 'evaluate: ']);
  has('document:\n  dsl: 1\n  |', ['name: ', 'version: '], ['dsl: ', 'do: ']);
  has('use:\n  retries:\n    often:\n      |', ['delay: ', 'limit: ']);
  assert.equal(offered('do:\n  - |'), undefined);
  has('do:\n  - a:\n      |', ['call: ', 'switch: ', 'if: '], ['with: ', 'do.for: ']);
  has('do:\n  - a:\n      try:\n        - b: { set: { x: 1 } }\n      |', ['catch: ', 'then: '], ['try: ', 'with: ', 'set: ']);
  has('do:\n  - a:\n      try: []\n      catch:\n        retry:\n          |', ['delay: ', 'limit: '], ['catch: ']);
  has('do:\n  - a:\n      switch:\n        - b:\n            |', ['when: ', 'then: '], ['call: ']);
  has('do:\n  - a:\n      call: orchestratorQuery\n      with:\n        |', ['adapter: ', 'params: '], ['uri: ', 'method: ']);
  has('do:\n  - a:\n      call: orchestratorRequest\n      with:\n        params:\n          |', ['method: ', 'path: ']);
  has('do:\n  - a:\n      timeout:\n        |', ['after: ']);
  has('use:\n  functions:\n    f:\n      |', ['call: ', 'do: ']);
  has('{"do": [{"a": {"call": "batch", "with": {"|', ['items": ', 'canary": ']);
  has('do:\n  - a: { call: http, with: { |', ['endpoint: ', 'method: ']);
});

test('functions, adapters, operations, tasks and types are offered as values', () => {
  has('do:\n  - a:\n      call: |', ['orchestratorAction', 'batch', 'greet']);
  has('do:\n  - a:\n      call: restCall\n      with:\n        adapter: |', ['Local NSO', '"yes: no"']);
  has('{"do":[{"a":{"with":{"adapter": "|', ['Local NSO"', 'yes: no"']);
  has('{"do":[{"a":{"with":{"adapter": |', ['"Local NSO"']);
  const query = 'do:\n  - a:\n      call: orchestratorAction\n      with:\n        adapter: ';
  has(`${query}Local NSO\n        params:\n          path: |`, ['restconf/data/tailf-ncs:devices/check-sync', 'here/a']);
  has(`${query}other\n        params:\n          path: |`, ['here/a'], ['restconf/data/tailf-ncs:devices/check-sync']);
  has('do:\n  - first:\n      then: |', ['first', 'loop', 'safe', 'end'], ['inner']);
  has('do:\n  - first: {}\n  - loop:\n      do:\n        - x:\n            then: |', ['inner', 'exit'], ['first']);
  has('do:\n  - a:\n      try: []\n      catch:\n        errors:\n          with:\n            type: |', [
    'https://serverlessworkflow.io/spec/1.0.0/errors/timeout',
    'urn:orchestration-gateway:errors:outcome-unknown',
  ]);
  has('do:\n  - a:\n      try: []\n      catch:\n        retry: |', ['often']);
  assert.equal(offered('document:\n  title: |'), undefined);
});

test('variables are offered where they exist', () => {
  has('input:\n  from: $|', ['$secrets'], ['$input', '$context']);
  has('do:\n  - a:\n      if: .x == $|', ['$context', '$task'], ['$input', '$output', '$item']);
  has('do:\n  - a:\n      set:\n        text: ${ $in|', ['$input', '$secrets'], ['$output']);
  has('do:\n  - a:\n      export:\n        as: $|', ['$output']);
  has('output:\n  as: $|', ['$context'], ['$input']);
  has(
    'do:\n  - first: {}\n  - loop:\n      for: { each: device, in: .d }\n      do:\n        - inner:\n            set: { a: "${ $|',
    ['$device', '$index'],
  );
  has('do:\n  - first: {}\n  - loop: {}\n  - safe:\n      try: []\n      catch:\n        when: $|', ['$fault', '$error']);
});
