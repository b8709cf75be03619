import { entityTag } from '#automations/entity-tag.ts';
import { pageQuery } from '#automations/list-options.ts';
import { Type } from '#base/json-schema.ts';
import { fitting } from '#base/visible-page.ts';
import type { FormCatalogue, ListedForm } from '#forms/form-catalogue.ts';
import { formSizeLimit } from '#forms/form-document.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, noContent, route } from '../route.ts';
import { countedPage, isoTime, listReply } from './lists.ts';
import { locationDocs, preconditionsOf, resourceReply, taggedDocs } from './resources.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

/** The forms that automations name. `base`: in front of the path in `Location`. */
export function formRoutes(catalogue: FormCatalogue, base: string): readonly ApiRoute[] {
  return [
    listForms.serve(async ({ query, ...request }) => {
      const { list, total } = await catalogue.list(query);
      const shown = list.map(shownForm);
      const limit = fitting(shown.map((form) => Buffer.byteLength(JSON.stringify(form))));
      if (limit === shown.length) return listReply(request, { list: shown, total, ...query }, false);
      return listReply(request, { list: shown.slice(0, limit), total, ...query, limit }, true);
    }),
    readForm.serve(async (request) => {
      const { text } = await catalogue.read(request.params.id);
      return resourceReply(request, 'form', { headers: { ETag: entityTag(text) }, mediaType: 'application/json', body: text });
    }),
    putForm.serve(async ({ params: { id }, body: bytes, principal, record, ...request }) => {
      const { form, isNew } = await catalogue.put({ principal, id, bytes, preconditions: preconditionsOf(request) });
      record.note({ form: { id: form.id } });
      const tag = { ETag: entityTag(form.text) };
      const headers = isNew ? { ...tag, Location: `${base}/automation_catalog/forms/${form.id}` } : tag;
      return { kind: 'plain', status: isNew ? 201 : 200, headers, mediaType: 'application/json', body: form.text };
    }),
    deleteForm.serve(async ({ params: { id }, principal, record, ...request }) => {
      await catalogue.remove({ principal, id, preconditions: preconditionsOf(request) });
      record.note({ form: { id } });
      return noContent;
    }),
  ];
}

function shownForm({ lastUpdated, ...form }: ListedForm) {
  return { ...form, lastUpdated: isoTime(lastUpdated) };
}

const text = Type.String();

const formSchema = Type.Object(
  {
    type: Type.Literal('object'),
    title: Type.Optional(text),
    description: Type.Optional(text),
    properties: Type.Unknown({
      type: 'object',
      description: 'A schema for each field: a string, number, integer or boolean, or an array of strings.',
    }),
    required: Type.Optional(Type.Array(text, { description: 'The fields that must be filled in.' })),
    additionalProperties: Type.Optional(Type.Boolean({ description: 'False: the input has no other members.' })),
  },
  { title: 'Form', description: 'A JSON Schema 2020-12 of one flat object.' },
);

const listedForm = namedObject('ListedForm', {
  id: text,
  title: Type.Optional(text),
  lastUpdated: Type.String({ format: 'date-time' }),
  lastModifiedBy: text,
});

const example = {
  type: 'object',
  title: 'VLAN',
  properties: {
    vlan: { type: 'integer', minimum: 2, maximum: 4094 },
    site: { type: 'string', enum: ['berlin', 'hamburg'], default: 'berlin' },
  },
  required: ['vlan'],
};
const params = { id: 'Id of the form: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.' };
const { tag: headers, conditions, reading } = taggedDocs('form');
const requestHeaders = {
  ...conditions,
  'If-None-Match': `${conditions['If-None-Match']} \`*\`: there must be no form with the id.`,
};

const listForms = route('GET /automation_catalog/forms', {
  ...catalogueReading,
  tag: 'forms',
  operationId: 'listForms',
  summary: 'List the forms by id',
  description: 'The options have the forms of the listing of automations.',
  query: pageQuery('forms'),
  reply: countedPage('FormList', listedForm),
  example: {
    query: { limit: 50 },
    reply: {
      list: [{ id: 'vlan', title: 'VLAN', lastUpdated: '2026-03-01T22:00:00.000Z', lastModifiedBy: 'admin' }],
      total: 1,
      skip: 0,
      limit: 50,
    },
  },
});

const readForm = route('GET /automation_catalog/forms/:id', {
  ...catalogueReading,
  tag: 'forms',
  operationId: 'readForm',
  summary: 'Read a form',
  description: 'The document byte for byte as it was written.',
  params,
  ...reading,
  reply: { description: 'The form.', schema: formSchema, headers },
  errors: ['form-not-found', 'precondition-failed'],
  example: { path: { id: 'vlan' }, reply: example },
});

const putForm = route('PUT /automation_catalog/forms/:id', {
  ...catalogueChange,
  tag: 'forms',
  operationId: 'putForm',
  summary: 'Store a form',
  description:
    'Creates the form (201), or replaces it (200). The document is kept byte for byte. Default values have to satisfy their own fields.',
  params,
  requestHeaders,
  body: {
    kind: 'document',
    mediaTypes: ['application/json', 'application/schema+json'],
    limit: formSizeLimit,
    schema: formSchema,
  },
  reply: { description: 'The form as stored.', schema: formSchema, headers },
  otherReplies: [
    { status: 201, description: 'The form is new.', sameBody: true, headers: { ...headers, ...locationDocs('the form') } },
  ],
  errors: ['form-invalid', 'newer-version-needed', 'precondition-failed'],
  example: { path: { id: 'vlan' }, request: example, reply: example },
});

const deleteForm = route('DELETE /automation_catalog/forms/:id', {
  ...catalogueChange,
  tag: 'forms',
  operationId: 'deleteForm',
  summary: 'Delete a form',
  description: 'An automation that names the form in `data.formId` has to be changed or deleted first.',
  params,
  requestHeaders,
  reply: { status: 204, description: 'The form is deleted.' },
  errors: ['form-not-found', 'form-in-use', 'newer-version-needed', 'precondition-failed'],
  example: { path: { id: 'vlan' } },
});
