import { defined } from '#base/text/defined.ts';
export interface UpstreamErrorText {
  readonly tag?: string;
  readonly message?: string;
}

/** RFC 8040, section 7.1, or NSO's legacy `errors`; `error` is a list or an object. Undefined for other text; never throws. */
export function readJsonErrors(text: string): UpstreamErrorText | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const errors = memberOf(body, 'ietf-restconf:errors') ?? memberOf(body, 'errors');
  const error = memberOf(errors, 'error');
  const first: unknown = Array.isArray(error) ? error[0] : error;
  return upstreamErrorText(textOf(memberOf(first, 'error-tag')), textOf(memberOf(first, 'error-message')));
}

/** For the first part of an error body. Quotes within a JSON string are escaped, so a search for the quoted name is enough. */
export function readCutJsonErrors(text: string): UpstreamErrorText | undefined {
  const next = text.indexOf('"error-tag"', text.indexOf('"error-tag"') + 1);
  const first = next < 0 ? text : text.slice(0, next);
  const textAfter = (name: string): string | undefined => {
    const [, literal] = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`, 'u').exec(first) ?? [];
    return literal === undefined ? undefined : parsedText(literal);
  };
  return upstreamErrorText(textAfter('error-tag'), textAfter('error-message'));
}

function parsedText(literal: string): string | undefined {
  try {
    return textOf(JSON.parse(literal));
  } catch {
    return undefined;
  }
}

export function upstreamErrorText(tag: string | undefined, message: string | undefined): UpstreamErrorText | undefined {
  return tag === undefined && message === undefined ? undefined : defined({ tag, message });
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
