import type { RequestProblem } from '../gateway-error.ts';
import { type JsonSchema, Type } from '../json-schema.ts';
import { edgeOfDay, isTimeZone, readTimestamp } from './timestamp.ts';

/** How a query parameter is read, and what the documentation says about it. `Absent`: the type of its value where it is not given. */
export interface QueryParameter<Value = unknown, Absent = unknown> {
  readonly description: string;
  readonly schema: JsonSchema;
  /** Undefined for a text that is no value. */
  readonly parse: (text: string) => Value | undefined;
  readonly wanted: string;
  readonly absent: Absent;
  /** Of several values the first one counts. Otherwise a parameter is given once. */
  readonly takesFirst?: true;
}

export type QueryParameters = Readonly<Record<string, QueryParameter>>;

export type ParameterValues<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends QueryParameter<infer Value, infer Absent> ? Value | Absent : never;
};

type Usual<Value> = QueryParameter<Value, undefined>;

/** Any text; of several the first. */
export function textParameter(description: string): Usual<string> {
  return { description, schema: Type.String(), parse: (text) => text, wanted: 'a text', absent: undefined, takesFirst: true };
}

export function nameParameter(description: string, wanted = 'a name'): Usual<string> {
  const parse = (text: string): string | undefined => (text === '' || text.includes('\0') ? undefined : text);
  return { description, schema: Type.String(), parse, wanted, absent: undefined };
}

export function choiceParameter<const Word extends string>(words: readonly Word[], description: string): Usual<Word> {
  const parse = (text: string): Word | undefined => words.find((word) => word === text);
  return { description, schema: Type.Enum([...words]), parse, wanted: `one of ${words.join(', ')}`, absent: undefined };
}

/** `true`, or absent. `more`: what to do where it is not wanted. */
export function trueParameter(description: string, more: string): Usual<true> {
  const parse = (text: string): true | undefined => (text === 'true' ? true : undefined);
  return { description, schema: Type.Enum(['true']), parse, wanted: `true; ${more}`, absent: undefined };
}

/** Milliseconds since the epoch. */
export function timeParameter(description: string): Usual<number> {
  return {
    description,
    schema: Type.String({ format: 'date-time' }),
    parse(text) {
      const read = readTimestamp(text);
      return read === undefined ? undefined : Date.parse(read);
    },
    wanted: 'a time such as 2026-11-21T08:00:00Z (RFC 3339; in an address write + as %2B)',
    absent: undefined,
  };
}

/** A time, or a day of the time zone that another parameter names: milliseconds since the epoch by that zone. `edge`: of the day. */
export function dayParameter(description: string, edge: 'first' | 'last'): Usual<(timeZone: string) => number> {
  const time = timeParameter(description);
  return {
    ...time,
    schema: Type.Union([Type.String({ format: 'date-time' }), Type.String({ format: 'date' })]),
    parse(text) {
      const at = time.parse(text);
      return at === undefined ? edgeOfDay(text, edge) : () => at;
    },
    wanted: `${time.wanted}, or a day such as 2026-11-21`,
  };
}

export function zoneParameter(description: string): QueryParameter<string, string> {
  const parse = (text: string): string | undefined => (isTimeZone(text) ? text : undefined);
  return {
    description,
    schema: Type.String({ default: 'UTC' }),
    parse,
    wanted: 'a time zone such as Europe/Berlin',
    absent: 'UTC',
  };
}

interface PageSize {
  readonly usual: number;
  readonly max: number;
}

/** The parameters of a list in pages. `readCursor`: reads what the route wrote into `cursor`. */
export function pageParameters<Place>(
  { usual, max }: PageSize,
  readCursor: (text: string) => Place | undefined,
  words: { readonly limit?: string; readonly cursor?: string } = {},
): { readonly limit: QueryParameter<number, number>; readonly cursor: Usual<Place> } {
  return {
    limit: {
      description: words.limit ?? 'Size of the page.',
      schema: Type.Integer({ minimum: 1, maximum: max, default: usual }),
      parse: (text) => (/^[1-9]\d{0,8}$/u.test(text) && Number(text) <= max ? Number(text) : undefined),
      wanted: `a whole number from 1 to ${max}`,
      absent: usual,
    },
    cursor: {
      description: words.cursor ?? '`cursor` of the previous page, unchanged; the filters must stay the same.',
      schema: Type.String(),
      parse: readCursor,
      wanted: 'a cursor of this route; take it from the reply before as it is',
      absent: undefined,
    },
  };
}

/** Reads query parameters, or answers every problem. */
export function readParameters<Of extends QueryParameters>(
  given: URLSearchParams,
  parameters: Of,
): { readonly values: ParameterValues<Of> } | { readonly problems: readonly RequestProblem[] } {
  const problems: RequestProblem[] = [];
  for (const name of new Set(given.keys())) {
    if (!Object.hasOwn(parameters, name))
      problems.push({ pointer: `?${name.slice(0, 128)}`, detail: 'is no query parameter of this route; leave it out' });
  }
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(parameters)) {
    const read = readParameter(given.getAll(name), parameter);
    if ('problem' in read) problems.push({ pointer: `?${name}`, detail: read.problem });
    else values[name] = read.value;
  }
  return problems.length > 0 ? { problems } : { values: values as ParameterValues<Of> };
}

function readParameter(
  [text, ...more]: readonly string[],
  { parse, wanted, absent, takesFirst }: QueryParameter,
): { readonly value: unknown } | { readonly problem: string } {
  if (text === undefined) return { value: absent };
  if (more.length > 0 && takesFirst !== true) return { problem: 'is given more than once' };
  const value = parse(text);
  return value === undefined ? { problem: `is not ${wanted}` } : { value };
}

/** A place in a list by time: the next page begins after it. `createdAt`: milliseconds since the epoch. */
interface TimeCursor {
  readonly createdAt: number;
  readonly id: string;
}

export function writeTimeCursor({ createdAt, id }: TimeCursor): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url');
}

/** `isId`: whether an entry of the list can have the id. */
export function readTimeCursor(text: string, isId: (id: string) => boolean): TimeCursor | undefined {
  const [createdAt, id, ...more] = cursorMembers(text);
  if (!Number.isSafeInteger(createdAt) || typeof id !== 'string' || !isId(id) || more.length > 0) return undefined;
  return { createdAt: createdAt as number, id };
}

/** What the route wrote as a JSON array in base64url; empty for any other text. */
export function cursorMembers(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
