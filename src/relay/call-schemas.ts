import { Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';

export const callVerbs = Type.Enum(['DELETE', 'GET', 'PATCH', 'PUT', 'POST']);

export const restCallBody = namedObject('RestCall', {
  uri: Type.String({ description: 'Absolute http or https address, at most 8,192 characters, without userinfo.' }),
  verb: callVerbs,
  user: Type.Optional(Type.String({ description: 'User name for the target API (HTTP Basic).' })),
  password: Type.Optional(Type.String({ description: 'Password for the target API, in clear text.' })),
  headers: Type.Optional({ type: 'object', additionalProperties: { type: 'string' }, description: 'Headers to send.' }),
  body: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Sent byte for byte.' })),
  responseHeaders: Type.Boolean({
    description: 'True: `response` is the JSON text of { statusCode, headers, body }. False: only the body.',
  }),
});

export const pathSchema = Type.String({
  description: 'Resource path relative to the orchestrator, with an optional query string; sent unchanged.',
});
export const acceptSchema = Type.String({
  description: 'Value of the Accept header: the media type for the reply, or a list of them.',
});
const contentTypeSchema = Type.Optional(
  Type.String({ description: 'Media type of the body; the default depends on the adapter kind.' }),
);
const anyObject = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'Sent byte for byte for JSON types, otherwise written as XML or as a form.',
  },
);

export const restActionBody = namedObject('RestAction', {
  params: namedObject('RestActionParams', { path: pathSchema, accept: acceptSchema, contentType: contentTypeSchema }),
  body: anyObject,
});
export const restQueryBody = namedObject('RestQuery', {
  params: namedObject('RestQueryParams', { path: pathSchema, accept: acceptSchema }),
});
/** Also of a preview. */
export const restRequestMembers = {
  params: namedObject('RestRequestParams', {
    method: callVerbs,
    path: pathSchema,
    accept: acceptSchema,
    contentType: contentTypeSchema,
  }),
  body: Type.Optional(anyObject),
};

export const restRequestBody = namedObject('RestRequest', restRequestMembers);
