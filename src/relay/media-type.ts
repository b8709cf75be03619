/** In lower case (RFC 9110 8.3.1). */
export interface MediaType {
  readonly essence: string;
  readonly charset?: string;
}

const pattern = /^[ \t]*([!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+)[ \t]*(?:;|$)/u;
/** A semicolon in a quoted string (RFC 9110 5.6.6) begins no parameter. */
const parameterPattern = /;[ \t]*([^\s;="]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/gu;

/** Upstreams use few types. Long texts are not kept. */
const known = new Map<string, MediaType>();
const maxKnown = 256;
const maxKnownLength = 128;

export function readMediaType(text: string): MediaType | undefined {
  const found = known.get(text);
  if (found !== undefined) return found;
  const type = parsedMediaType(text);
  if (type === undefined || text.length > maxKnownLength) return type;
  if (known.size >= maxKnown) known.clear();
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

/** RFC 6839. */
export function isJson(type: MediaType): boolean {
  return type.essence.endsWith('/json') || type.essence.endsWith('+json');
}

/** RFC 7303. */
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

/** Relayed as text, not as base64. */
export function isTextual(type: MediaType): boolean {
  return type.essence.startsWith('text/') || isJson(type) || isXml(type) || isForm(type) || otherTextual.has(type.essence);
}
