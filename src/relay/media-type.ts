/** A media type as far as the relay needs it, in lower case (RFC 9110 8.3.1). */
export interface MediaType {
  /** `type/subtype`. */
  readonly essence: string;
  /** Value of the charset parameter. */
  readonly charset?: string;
}

const pattern = /^[ \t]*([!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+)[ \t]*(?:;|$)/u;
/** A parameter. Its value may be a quoted string (RFC 9110 5.6.6), in which a semicolon begins no other parameter. */
const parameterPattern = /;[ \t]*([^\s;="]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/gu;

/** Cache of media types: far sides use few of them. Long texts are not kept. */
const known = new Map<string, MediaType>();
const mostKnown = 256;
const longestKnown = 128;

/** Undefined where the text is no media type. */
export function readMediaType(text: string): MediaType | undefined {
  const found = known.get(text);
  if (found !== undefined) return found;
  const type = parsedMediaType(text);
  if (type === undefined || text.length > longestKnown) return type;
  if (known.size >= mostKnown) known.clear();
  known.set(text, type);
  return type;
}

function parsedMediaType(text: string): MediaType | undefined {
  const essence = pattern.exec(text)?.[1]?.toLowerCase();
  if (essence === undefined) return undefined;
  for (const [, name, quoted, token] of text.matchAll(parameterPattern)) {
    if (name?.toLowerCase() !== 'charset') continue;
    return { essence, charset: (token ?? quoted?.replaceAll(/\\(.)/gu, '$1') ?? '').toLowerCase() };
  }
  return { essence };
}

/** `application/json`, `text/json` and every `+json` type (RFC 6839). */
export function isJson(type: MediaType): boolean {
  return type.essence.endsWith('/json') || type.essence.endsWith('+json');
}

/** `application/xml`, `text/xml` and every `+xml` type (RFC 7303). */
export function isXml(type: MediaType): boolean {
  return type.essence.endsWith('/xml') || type.essence.endsWith('+xml');
}

export function isForm(type: MediaType): boolean {
  return type.essence === 'application/x-www-form-urlencoded';
}

const otherTextual = new Set([
  'application/ecmascript',
  'application/javascript',
  'application/json-seq',
  'application/jsonl',
  'application/ndjson',
  'application/x-javascript',
  'application/x-ndjson',
  'application/xml-dtd',
  'multipart/form-data',
]);

/** Types that the gateway relays as text, not as base64: text, JSON, XML, JavaScript and form types. */
export function isTextual(type: MediaType): boolean {
  return type.essence.startsWith('text/') || isJson(type) || isXml(type) || isForm(type) || otherTextual.has(type.essence);
}
