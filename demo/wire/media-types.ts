/** The two encodings of a body. */
export type Format = 'json' | 'xml';

/** A media type chosen for a reply. */
export interface ChosenType {
  readonly mediaType: string;
  readonly format: Format;
  /** Whether `collection` wraps the reply, which puts several list entries into one document. */
  readonly collection: boolean;
}

/** Media types of RESTCONF replies, the default first. */
export const restconfTypes = ['application/yang-data+xml', 'application/yang-data+json'] as const;

/** Media types of RESTCONF replies with several list entries (tail-f extension `collection/1.0`). */
export const restconfCollectionTypes = ['application/vnd.yang.collection+xml', 'application/vnd.yang.collection+json'] as const;

/** All media types of RESTCONF, for error messages. */
export const restconfAcceptable = [...restconfTypes, ...restconfCollectionTypes];

/** The types of NSO's legacy API for one kind of resource, XML first. */
export function legacyTypes(kind: 'api' | 'datastore' | 'data' | 'collection' | 'operation'): readonly string[] {
  return [`application/vnd.yang.${kind}+xml`, `application/vnd.yang.${kind}+json`];
}

interface Range {
  readonly range: string;
  readonly quality: number;
}

/** The best of `offered` for an Accept header (RFC 9110, 12.5.1), ties by the header's order; undefined where none matches. */
export function chooseType(accept: string | undefined, offered: readonly string[]): ChosenType | undefined {
  const ranges = readAccept(accept ?? '*/*');
  for (const { range } of ranges.filter(({ quality }) => quality > 0).sort((one, other) => other.quality - one.quality)) {
    const mediaType = offered.find((type) => matches(range, type) && !refused(ranges, type));
    if (mediaType !== undefined) return chosen(mediaType);
  }
  return undefined;
}

export function chosen(mediaType: string): ChosenType {
  return { mediaType, format: mediaType.endsWith('json') ? 'json' : 'xml', collection: mediaType.includes('.collection+') };
}

function readAccept(header: string): readonly Range[] {
  return header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { range, quality: quality === undefined ? 1 : Number(quality) || 0 };
  });
}

function matches(range: string, type: string): boolean {
  return range === '*/*' || range === type || (range === 'application/*' && type.startsWith('application/'));
}

function refused(ranges: readonly Range[], type: string): boolean {
  return ranges.some(({ range, quality }) => range === type && quality === 0);
}

/** The media type of a Content-Type header: lower case, without parameters; empty without a header. */
export function essenceOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}
