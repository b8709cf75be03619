import { GatewayError } from '#base/gateway-error.ts';
import { writeForm } from '#json/form.ts';
import { writeXmlBody } from '#xml/xml-body.ts';
import { isForm, isJson, isXml, type MediaType, readMediaType } from './media-type.ts';

/**
 * The message body for a caller's `body` object: its exact bytes for JSON types, form-encoded or written as XML for those.
 * Throws `invalid-request` where the type is none of these (`pointer` names the member that gave the type) or the object does not fit it.
 */
export function writeRequestBody(span: Buffer, contentType: string, pointer: string): Buffer {
  const type = readMediaType(contentType);
  if (type === undefined) throw unsendable(pointer, `${JSON.stringify(contentType)} is no media type`);
  if (type.charset !== undefined && type.charset !== 'utf-8' && type.charset !== 'utf8') {
    throw unsendable(pointer, `the body is sent in UTF-8, not in ${type.charset}`);
  }
  return written(span, type, pointer);
}

function written(span: Buffer, type: MediaType, pointer: string): Buffer {
  if (isJson(type)) return span;
  if (isForm(type)) return writeForm(span);
  if (isXml(type)) return writeXmlBody(span);
  throw unsendable(pointer, `a body can be sent as JSON, as a form or as XML, not as ${type.essence}`);
}

function unsendable(pointer: string, detail: string): GatewayError {
  return new GatewayError('invalid-request', 'The body cannot be sent as its media type says.', {
    errors: [{ pointer, detail }],
  });
}

/** True for the JSON text of an object without members. */
export function isEmptyObject(span: Buffer): boolean {
  return span.length < 1024 && /^\{\s*\}$/u.test(span.toString('latin1'));
}
