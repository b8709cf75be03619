/** The error that a far side's body reports: error-tag and error-message of RFC 8040, if present. */
export interface FarSideErrorText {
  readonly tag?: string;
  readonly message?: string;
}

/**
 * The first error of a RESTCONF error body (RFC 8040, section 7.1, `ietf-restconf:errors`) or of NSO's legacy `errors`. Its
 * `error` may be a list or a single object. Undefined for any other text; never throws.
 */
export function readJsonErrors(text: string): FarSideErrorText | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const errors = memberOf(body, 'ietf-restconf:errors') ?? memberOf(body, 'errors');
  const error = memberOf(errors, 'error');
  const first: unknown = Array.isArray(error) ? error[0] : error;
  return farSideErrorText(textOf(memberOf(first, 'error-tag')), textOf(memberOf(first, 'error-message')));
}

/**
 * As `readJsonErrors`, for the first part of an error body: the members of its first error that are complete. A search for the
 * quoted name is enough: inside a JSON string the quotes would be escaped.
 */
export function readCutJsonErrors(text: string): FarSideErrorText | undefined {
  const next = text.indexOf('"error-tag"', text.indexOf('"error-tag"') + 1);
  const first = next < 0 ? text : text.slice(0, next);
  const textAfter = (name: string): string | undefined => {
    const [, literal] = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`, 'u').exec(first) ?? [];
    return literal === undefined ? undefined : parsedText(literal);
  };
  return farSideErrorText(textAfter('error-tag'), textAfter('error-message'));
}

function parsedText(literal: string): string | undefined {
  try {
    return textOf(JSON.parse(literal));
  } catch {
    return undefined;
  }
}

/** Both texts as one value; undefined if both are undefined. */
export function farSideErrorText(tag: string | undefined, message: string | undefined): FarSideErrorText | undefined {
  if (tag === undefined && message === undefined) return undefined;
  return { ...(tag === undefined ? {} : { tag }), ...(message === undefined ? {} : { message }) };
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
