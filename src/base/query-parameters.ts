import type { RequestProblem } from './gateway-error.ts';
import { readTimestamp } from './timestamp.ts';

export type ReadQuery<Query> = { readonly query: Query } | { readonly problems: readonly RequestProblem[] };

export interface ParameterReader {
  readonly parse: (text: string) => unknown;
  /** What the value has to be. */
  readonly wanted: string;
}

export const nameParameter: ParameterReader = {
  parse: (text) => (text === '' || text.includes('\0') ? undefined : text),
  wanted: 'a name',
};

export function choiceParameter(words: readonly string[]): ParameterReader {
  return { parse: (text) => words.find((word) => word === text), wanted: `one of ${words.join(', ')}` };
}

/** Milliseconds since the epoch. */
export const timeParameter: ParameterReader = {
  parse(text) {
    const read = readTimestamp(text);
    return read === undefined ? undefined : Date.parse(read);
  },
  wanted: 'a time such as 2026-11-21T08:00:00Z (RFC 3339; in an address write + as %2B)',
};

/** The size of a page, from 1 to `most`. */
export function limitParameter(most: number): ParameterReader {
  return {
    parse: (text) => (/^[1-9]\d{0,8}$/u.test(text) && Number(text) <= most ? Number(text) : undefined),
    wanted: `a whole number from 1 to ${most}`,
  };
}

/** `parse`: reads what the route wrote into `cursor`. */
export function cursorParameter(parse: ParameterReader['parse']): ParameterReader {
  return { parse, wanted: 'a cursor of this route; take it from the reply before as it is' };
}

/** Reads query parameters, or answers every problem. Each may be given once. */
export function readParameters(
  parameters: URLSearchParams,
  readers: Readonly<Record<string, ParameterReader>>,
): { readonly values: Readonly<Record<string, unknown>> } | { readonly problems: readonly RequestProblem[] } {
  const problems: RequestProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const given of new Set(parameters.keys())) {
    if (!Object.hasOwn(readers, given))
      problems.push({ pointer: `?${given.slice(0, 128)}`, detail: 'is no query parameter of this route; leave it out' });
  }
  for (const [parameter, { parse, wanted }] of Object.entries(readers)) {
    const [text, ...more] = parameters.getAll(parameter);
    if (text === undefined) continue;
    const value = more.length > 0 ? undefined : parse(text);
    if (value !== undefined) values[parameter] = value;
    else problems.push({ pointer: `?${parameter}`, detail: more.length > 0 ? 'is given more than once' : `is not ${wanted}` });
  }
  return problems.length > 0 ? { problems } : { values };
}

/** A place in a list by time: the next page begins after it. `createdAt`: milliseconds since the epoch. */
interface TimePlace {
  readonly createdAt: number;
  readonly id: string;
}

export function writeTimeCursor({ createdAt, id }: TimePlace): string {
  return Buffer.from(JSON.stringify([createdAt, id])).toString('base64url');
}

/** `isId`: whether an entry of the list can have the id. */
export function readTimeCursor(text: string, isId: (id: string) => boolean): TimePlace | undefined {
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
