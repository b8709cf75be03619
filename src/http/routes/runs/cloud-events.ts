import { Type } from '#base/json-schema.ts';
import { readTimestamp } from '#base/text/timestamp.ts';
import { compactJson } from '#json/compact-json.ts';
import { createProblemList, invalidRequest, type ProblemList } from '#json/forms/problem-list.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import { opaqueMembers, pointerTo } from '#json/json-pointer.ts';
import { isOwnAttribute, whyOwn } from '#workflows/own-events.ts';

export const cloudEventType = 'application/cloudevents+json';
export const cloudEventBatchType = 'application/cloudevents-batch+json';

/** Bytes of one request. */
export const cloudEventsLimit = 262_144;
const maxEvents = 100;
/** Characters of an attribute. */
const maxAttributeLength = 2_048;

const text = Type.String({ minLength: 1, maxLength: maxAttributeLength });
const optionalText = Type.Optional(text);

/** For the documentation: `readCloudEvents` judges the events. */
export const cloudEventSchema = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String({ minLength: 1, maxLength: maxAttributeLength, description: 'Unique for its sender and source.' }),
    source: Type.String({
      minLength: 1,
      maxLength: maxAttributeLength,
      format: 'uri-reference',
      pattern: '^[^/]',
      description: 'Sources that begin with / are those of the gateway.',
    }),
    type: Type.String({
      minLength: 1,
      maxLength: maxAttributeLength,
      pattern: '^(?!orchestration-gateway\\.|io\\.serverlessworkflow\\.)',
      description: 'Types that begin with `orchestration-gateway.` or `io.serverlessworkflow.` are those of the gateway.',
    }),
    datacontenttype: optionalText,
    dataschema: optionalText,
    subject: optionalText,
    time: Type.Optional(Type.String({ format: 'date-time' })),
    data: Type.Optional(Type.Unknown({ description: 'Any JSON value.' })),
    data_base64: Type.Optional(Type.String({ description: 'Bytes in base64, instead of `data`.' })),
  },
  {
    title: 'CloudEvent',
    description:
      'CloudEvents 1.0, JSON format. Further members are extensions, but for `sender` and `workflow`, which the gateway sets. The batch type has an array of these.',
  },
);

/**
 * The events of a request as compact JSON texts, otherwise byte for byte. Throws `invalid-json` or, with every problem at once,
 * `invalid-request` (400).
 */
export function readCloudEvents(bytes: Buffer, contentType: string | undefined): readonly string[] {
  const isBatch = contentType?.toLowerCase().startsWith(cloudEventBatchType) === true;
  const alsoWrong = ({ value }: { readonly value: unknown }) => problemsOf(value, isBatch);
  const envelope = readEnvelope(bytes, { opaque: isBatch ? dataOfBatch : dataOfOne, alsoWrong });
  const problems = alsoWrong(envelope);
  if (problems.length > 0) throw invalidRequest(problems);
  const { value } = envelope;
  return isBatch && Array.isArray(value) ? itemsOf(bytes, value.length) : [compactJson(bytes)];
}

const dataOfOne = opaqueMembers(['/data']);
const dataOfBatch = opaqueMembers(Array.from({ length: maxEvents }, (_, index) => `/${index}/data`));

/** The items of a valid array of this length. */
function itemsOf(bytes: Buffer, length: number): readonly string[] {
  const items = Array.from({ length }, (_, index) => `/${index}`);
  const { spans } = readEnvelope(bytes, { opaque: opaqueMembers(items) });
  return items.map((pointer) => compactJson(spans.get(pointer) ?? Buffer.alloc(0)));
}

function problemsOf(value: unknown, isBatch: boolean): ProblemList['problems'] {
  const list = createProblemList();
  if (!isBatch) judgeEvent(value, '', list);
  else if (!Array.isArray(value)) list.add('', 'must be an array of events, as the media type says');
  else if (value.length > maxEvents) list.add('', `has more than ${maxEvents} events: send several requests`);
  else value.forEach((event, index) => judgeEvent(event, `/${index}`, list));
  return list.problems;
}

function judgeEvent(event: unknown, pointer: string, list: ProblemList): void {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    list.add(pointer, 'must be an object: a CloudEvent in the JSON format');
    return;
  }
  // A null is an attribute without a value (JSON format 2.2). For `data` it is the value.
  const given = new Map(
    Object.entries(event).filter(([name, value]) => value !== null || name === 'data' || isOwnAttribute(name)),
  );
  for (const name of ['specversion', 'id', 'source', 'type']) if (!given.has(name)) list.add(`${pointer}/${name}`, 'is missing');
  for (const [name, value] of given) {
    const problem = problemOfMember(name, value);
    if (problem !== undefined) list.add(pointerTo(pointer, name), problem);
  }
  if (given.has('data') && given.has('data_base64'))
    list.add(`${pointer}/data_base64`, 'excludes data: leave out one of the two');
}

type Judge = (value: string) => string | undefined;

/** Attributes with a form of their own. */
const forms: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ['specversion', (value) => (value === '1.0' ? undefined : 'must be "1.0"')],
  ['source', (value) => (isReference(value) ? undefined : 'must be a URI reference, such as https://example.net/a')],
  ['dataschema', (value) => (URL.canParse(value) ? undefined : 'must be an absolute URI')],
  ['datacontenttype', (value) => (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;.*)?$/u.test(value) ? undefined : 'must be a media type')],
  [
    'time',
    (value) => (readTimestamp(value) === undefined ? 'must be a time such as 2026-11-21T08:00:00Z (RFC 3339)' : undefined),
  ],
]);

const texts: ReadonlySet<string> = new Set(['id', 'type', 'subject', ...forms.keys()]);

function problemOfMember(name: string, value: unknown): string | undefined {
  if (name === 'data') return undefined;
  const own = whyOwn(name, value);
  if (own !== undefined) return own;
  if (name === 'data_base64') return isBase64(value) ? undefined : 'must be a string of base64';
  if (!/^[a-z0-9]{1,64}$/u.test(name)) return 'is no name of an attribute: only a to z and 0 to 9 are, at most 64 of them';
  return texts.has(name) ? problemOfAttribute(name, value) : problemOfExtension(value);
}

function problemOfAttribute(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  return value === '' ? 'must not be empty' : (problemOfText(value) ?? forms.get(name)?.(value));
}

function problemOfExtension(value: unknown): string | undefined {
  if (typeof value === 'string') return problemOfText(value);
  const isValue = typeof value === 'boolean' || Number.isSafeInteger(value);
  return isValue ? undefined : 'must be a string, a boolean or a whole number';
}

// oxlint-disable-next-line no-control-regex -- CloudEvents 1.0, type system: a String has no control characters.
const control = /[\u0000-\u001f\u007f-\u009f]/u;

function problemOfText(value: string): string | undefined {
  if (value.length > maxAttributeLength) return `has more than ${maxAttributeLength} characters`;
  return control.test(value) ? 'has a control character; leave it out' : undefined;
}

function isReference(value: string): boolean {
  return /^[^\s<>"{}|\\^`]+$/u.test(value) && URL.canParse(value, 'https://base.invalid/');
}

function isBase64(value: unknown): boolean {
  return typeof value === 'string' && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/u.test(value);
}
