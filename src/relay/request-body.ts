import { GatewayError } from '#base/gateway-error.ts';
import { writeForm } from '#json/forms/form.ts';
import { writeXmlBody } from '#xml/xml-body.ts';
import { isForm, isJson, isXml, readMediaType } from './media-type.ts';

/** A predicate; undefined for JSON, forms and XML in UTF-8, and for a text as any type. */
export function contentTypeProblem(contentType: string, isText = false): string | undefined {
  const type = readMediaType(contentType);
  if (type === undefined) return `is no media type: ${JSON.stringify(contentType.slice(0, 128))}`;
  if (type.charset !== undefined && type.charset !== 'utf-8' && type.charset !== 'utf8') {
    return `has the charset ${type.charset}; a body is sent in UTF-8`;
  }
  return isText || isJson(type) || isForm(type) || isXml(type)
    ? undefined
    : `is ${type.essence}; a body can be sent as JSON, as a form or as XML`;
}

/** JSON text of a string. */
export function isTextBody(span: Buffer): boolean {
  return span[0] === 0x22;
}

/** Exact bytes for JSON, else a form or XML; a string as its text. Throws `invalid-request`. */
export function writeRequestBody(span: Buffer, contentType: string): Buffer {
  const isText = isTextBody(span);
  const problem = contentTypeProblem(contentType, isText);
  if (problem !== undefined) {
    throw new GatewayError('invalid-request', `The body cannot be sent: its media type ${problem}.`, {
      errors: [{ pointer: '/params/contentType', detail: problem }],
    });
  }
  const type = readMediaType(contentType) ?? { essence: '' };
  if (isText && !isJson(type)) return Buffer.from((JSON.parse(span.toString()) as string).toWellFormed());
  if (isForm(type)) return writeForm(span);
  return isXml(type) ? writeXmlBody(span) : span;
}

/** JSON text of an object. */
export function isEmptyObject(span: Buffer): boolean {
  let at = 1;
  while (isJsonSpace(span[at])) at += 1;
  return span[0] === 0x7b && span[at] === 0x7d;
}

function isJsonSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
