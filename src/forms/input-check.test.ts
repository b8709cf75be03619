import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { createSchemaThreads } from '#workflows/schemas/schema-threads.ts';
import type { StoredForm } from './form-catalogue.ts';
import { createInputCheck } from './input-check.ts';

const schemas = createSchemaThreads({ threads: 1 });
after(() => schemas.close());

const form = '{"type":"object","properties":{"vlan":{"type":"integer","maximum":4094,"default":1}}}';
const stored: StoredForm = {
  id: 'vlan',
  text: form,
  title: undefined,
  lastUpdated: 0,
  lastModifiedBy: 'admin',
  writer: undefined,
};
const forms = {
  find: (id: string) => Promise.resolve(id === 'vlan' ? stored : undefined),
  read(id: string) {
    return id === 'vlan' ? Promise.resolve(stored) : Promise.reject(new GatewayError('form-not-found', 'There is no form.'));
  },
};
const check = createInputCheck({ forms, schemas });

const withForm = { data: { formId: 'vlan' } };
const schema = '{"required":["site"],"properties":{"vlan":{"minimum":2}}}';
const withSchema = { input: { schema: { pointer: '/input/schema', document: schema } } };

function problems(input: unknown, automation = {}, workflow: Parameters<typeof check.formOf>[1] = { input: {} }) {
  return check.inputProblems({ automation, workflow: workflow ?? { input: {} }, input: JSON.stringify(input), person: 'ann' });
}

describe('the input of an automation', () => {
  test('has to satisfy the form and the schema of the workflow', async () => {
    assert.deepEqual(await problems({ vlan: 5, site: 'a' }, withForm, withSchema), []);
    assert.deepEqual(await problems({ vlan: 5000 }, withForm, withSchema), [
      { pointer: '/vlan', detail: 'must be at most 4094' },
      { pointer: '/site', detail: 'is required' },
    ]);
    assert.deepEqual(await problems({ vlan: 5000 }, withForm), [{ pointer: '/vlan', detail: 'must be at most 4094' }]);
    assert.deepEqual(await problems({ vlan: 1, site: 'a' }, {}, withSchema), [
      { pointer: '/vlan', detail: 'must be at least 2' },
    ]);
    assert.deepEqual(await problems(['anything']), []);
  });

  test('is not given the default values of the form', async () => {
    const document = '{"required":["vlan"]}';
    const workflow = { input: { schema: { pointer: '/input/schema', document } } };
    assert.deepEqual(await problems({}, withForm, workflow), [{ pointer: '/vlan', detail: 'is required' }]);
  });

  test('is refused where the form does not exist or the schema cannot be applied', async () => {
    const [missing] = await problems({}, { data: { formId: 'other' } });
    assert.match(missing?.detail ?? '', /names a form that does not exist/u);
    const workflow = { input: { schema: { pointer: '/input/schema', document: '{"allOf":[{"$ref":"https://e.example/"}]}' } } };
    const [elsewhere] = await problems({}, {}, workflow);
    assert.match(elsewhere?.detail ?? '', /input\.schema of the workflow: \/allOf\/0\/\$ref names another document/u);
  });

  test('is not held against a schema that has to be fetched', async () => {
    const resource = { endpoint: { jq: '{"uri":"https://e.example/"}' } };
    assert.deepEqual(await problems({}, {}, { input: { schema: { pointer: '/input/schema', resource } } }), []);
  });
});

test('the form of an automation is its own, otherwise the schema of its workflow', async () => {
  assert.equal(await check.formOf(withForm, withSchema), form);
  assert.equal(await check.formOf({}, withSchema), schema);
  assert.equal(await check.formOf({}, undefined), undefined);
  await assert.rejects(check.formOf({ data: { formId: 'other' } }, withSchema), { code: 'form-not-found' });
});
