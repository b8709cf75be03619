/** What a far side's error body says of itself: RFC 8040's error-tag and error-message, as far as they are there. */
export interface FarSideErrorText {
  readonly tag?: string;
  readonly message?: string;
}

/**
 * The first error of a RESTCONF error body (RFC 8040 section 7.1, `ietf-restconf:errors`) or of NSO's legacy `errors`, with
 * `error` as a list or a single object. Undefined for anything else; never throws.
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

/** The two as one value; undefined where neither is there. */
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
