import { entityTag, matchesNone, requireMatch } from '#automations/entity-tag.ts';
import { pageSize, readPageOptions } from '#automations/list-options.ts';
import { Type } from '#base/json-schema.ts';
import { fitting } from '#base/visible-page.ts';
import type { FormCatalogue, ListedForm } from '#forms/form-catalogue.ts';
import { formSizeLimit } from '#forms/form-document.ts';
import { json, type Route, type RouteDocs, type RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { catalogueChange, catalogueReading } from './route-traits.ts';

/** The forms that automations name. `base`: in front of the path in `Location`. */
export function formRoutes(catalogue: FormCatalogue, base: string): readonly Route[] {
  return [listRoute(catalogue), readRoute(catalogue), putRoute(catalogue, base), removeRoute(catalogue)];
}

const text = Type.String();
const count = Type.Integer({ minimum: 0 });

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

const listSchema = namedObject('FormList', {
  list: Type.Array(
    namedObject('ListedForm', {
      id: text,
      title: Type.Optional(text),
      lastUpdated: Type.String({ format: 'date-time' }),
      lastModifiedBy: text,
    }),
  ),
  total: count,
  skip: count,
  limit: count,
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
const pathParameters = { id: 'Id of the form: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.' };
const tagHeader = { ETag: 'Entity tag of the form, for `If-Match`; the same on every gateway.' };
const conditions: NonNullable<RouteDocs['requestHeaders']> = [
  { name: 'If-Match', description: 'The form must have one of these entity tags; otherwise 412.' },
  {
    name: 'If-None-Match',
    description: 'The form must have none of these entity tags; otherwise 412. `*`: there must be no form with the id.',
  },
];

function idOf({ params }: RouteRequest): string {
  return params['id'] ?? '';
}

function preconditionsOf({ headers }: RouteRequest) {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

function summaryOf({ lastUpdated, ...form }: ListedForm) {
  return { ...form, lastUpdated: new Date(lastUpdated).toISOString() };
}

function listRoute(catalogue: FormCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/forms',
    // readPageOptions checks names and values together, so that one reply lists all problems.
    query: () => true,
    async handle({ query, ...request }) {
      const page = readPageOptions(query);
      request.count();
      const { list, total } = await catalogue.list(page);
      const shown = list.map(summaryOf);
      const count = fitting(shown.map((form) => Buffer.byteLength(JSON.stringify(form))));
      if (count === shown.length) return json(200, { list: shown, total, ...page });
      request.reached('page');
      return json(200, { list: shown.slice(0, count), total, ...page, limit: count });
    },
    ...catalogueReading,
    counted: 'judged',
    docs: {
      tag: 'forms',
      operationId: 'listForms',
      summary: 'List the forms by id',
      description: 'The options have the forms of the listing of automations.',
      queryParameters: [
        {
          name: 'limit',
          description: 'Size of the page; 0 returns only the counts.',
          schema: Type.Integer({ minimum: 0, maximum: pageSize.most, default: pageSize.usual }),
        },
        {
          name: 'skip',
          description: 'Number of forms to skip.',
          schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
        },
      ],
      success: { status: 200, description: 'A page, and the effective options.', schema: listSchema },
      errors: ['invalid-request', 'store-unavailable'],
      example: {
        query: { limit: 50 },
        reply: {
          list: [{ id: 'vlan', title: 'VLAN', lastUpdated: '2026-03-01T22:00:00.000Z', lastModifiedBy: 'admin' }],
          total: 1,
          skip: 0,
          limit: 50,
        },
      },
    },
  };
}

function readRoute(catalogue: FormCatalogue): Route {
  return {
    method: 'GET',
    url: '/automation_catalog/forms/:id',
    async handle(request) {
      const form = await catalogue.read(idOf(request));
      const { ifMatch, ifNoneMatch } = preconditionsOf(request);
      const headers = { ETag: entityTag(form.text) };
      requireMatch({ ifMatch }, headers.ETag, 'form');
      if (!matchesNone(ifNoneMatch, headers.ETag)) return { kind: 'plain', status: 304, headers };
      return { kind: 'plain', status: 200, headers, mediaType: 'application/json', body: form.text };
    },
    ...catalogueReading,
    docs: {
      tag: 'forms',
      operationId: 'readForm',
      summary: 'Read a form',
      description: 'The document byte for byte as it was written.',
      pathParameters,
      requestHeaders: [
        ...conditions.slice(0, 1),
        { name: 'If-None-Match', description: 'Entity tags that the caller has; 304 if one of them is current.' },
      ],
      success: { status: 200, description: 'The form.', schema: formSchema, headers: tagHeader },
      otherReplies: [{ status: 304, description: 'The caller has the current form.', headers: tagHeader }],
      errors: ['form-not-found', 'precondition-failed', 'store-unavailable'],
      example: { path: { id: 'vlan' }, reply: example },
    },
  };
}

function putRoute(catalogue: FormCatalogue, base: string): Route {
  return {
    method: 'PUT',
    url: '/automation_catalog/forms/:id',
    body: {
      kind: 'document',
      mediaTypes: ['application/json', 'application/schema+json'],
      limit: formSizeLimit,
      schema: formSchema,
    },
    async handle(request) {
      const { principal } = request.context.record;
      const { form, isNew } = await catalogue.put({
        principal,
        id: idOf(request),
        bytes: request.body as Buffer,
        preconditions: preconditionsOf(request),
      });
      request.context.record.note({ form: { id: form.id } });
      const tag = { ETag: entityTag(form.text) };
      const headers = isNew ? { ...tag, Location: `${base}/automation_catalog/forms/${form.id}` } : tag;
      return { kind: 'plain', status: isNew ? 201 : 200, headers, mediaType: 'application/json', body: form.text };
    },
    ...catalogueChange,
    docs: {
      tag: 'forms',
      operationId: 'putForm',
      summary: 'Store a form',
      description:
        'Creates the form (201), or replaces it (200). The document is kept byte for byte. Default values have to satisfy their own fields.',
      pathParameters,
      requestHeaders: conditions,
      success: {
        status: 200,
        description: 'The form as stored.',
        schema: formSchema,
        headers: tagHeader,
      },
      otherReplies: [
        {
          status: 201,
          description: 'The form is new.',
          sameBody: true,
          headers: { ...tagHeader, Location: 'Address of the form: its path, under `server.publicUrl` where that is set.' },
        },
      ],
      errors: ['invalid-request', 'form-invalid', 'precondition-failed', 'store-unavailable'],
      example: { path: { id: 'vlan' }, request: example, reply: example },
    },
  };
}

function removeRoute(catalogue: FormCatalogue): Route {
  return {
    method: 'DELETE',
    url: '/automation_catalog/forms/:id',
    async handle(request) {
      const id = idOf(request);
      await catalogue.remove({ principal: request.context.record.principal, id, preconditions: preconditionsOf(request) });
      request.context.record.note({ form: { id } });
      return { kind: 'plain', status: 204 };
    },
    ...catalogueChange,
    docs: {
      tag: 'forms',
      operationId: 'deleteForm',
      summary: 'Delete a form',
      description: 'An automation that names the form in `data.formId` has to be changed or deleted first.',
      pathParameters,
      requestHeaders: conditions,
      success: { status: 204, description: 'The form is deleted.' },
      errors: ['form-not-found', 'form-in-use', 'precondition-failed', 'store-unavailable'],
      example: { path: { id: 'vlan' } },
    },
  };
}
