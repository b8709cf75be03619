import type { RequestProblem } from '#base/gateway-error.ts';
import { readTimestamp } from '#base/timestamp.ts';
import { type AuditFacts, type AuditOutcome, auditOutcomes } from './audit-entry.ts';

/** The filter and the page of `GET /audit`. */
export interface AuditQuery {
  /** Milliseconds since the epoch; both ends are inclusive. */
  readonly from?: number;
  readonly to?: number;
  readonly principal?: string;
  readonly adapter?: string;
  readonly outcome?: AuditOutcome;
  /** Only calls of that run; with `task` and `id` only those of that task. No parameter of `GET /audit`. */
  readonly via?: NonNullable<AuditFacts['via']>;
  readonly limit: number;
  /** Only records after this one, in the order of the listing. */
  readonly after?: RecordPosition;
}

/** A position in the order of records: by time, then chain, then number in the chain, then number in the entry. */
export interface RecordPosition {
  readonly at: number;
  readonly chain: string;
  readonly seq: number;
  /** The number in an entry of several records, from 1. Undefined: the position of the whole entry. */
  readonly index?: number;
}

export const auditPage = { usual: 100, most: 1_000 } as const;

const auditParameters = ['from', 'to', 'principal', 'adapter', 'outcome', 'limit', 'cursor'] as const;

type Parameter = (typeof auditParameters)[number];

/** Parses the parameters of `GET /audit` and collects all problems. */
export function readAuditQuery(
  parameters: URLSearchParams,
): { readonly query: AuditQuery } | { readonly problems: readonly RequestProblem[] } {
  const problems: RequestProblem[] = [];
  const read: Partial<Record<keyof AuditQuery, unknown>> = { limit: auditPage.usual };
  for (const name of new Set(parameters.keys())) {
    if (!auditParameters.some((known) => known === name))
      problems.push({ pointer: `?${name.slice(0, 128)}`, detail: 'is no query parameter of this route; leave it out' });
  }
  for (const name of auditParameters) {
    const values = parameters.getAll(name);
    const [value] = values;
    if (value === undefined) continue;
    const { member, parse, wanted } = readers[name];
    const parsed = values.length > 1 ? undefined : parse(value);
    if (parsed !== undefined) read[member] = parsed;
    else problems.push({ pointer: `?${name}`, detail: values.length > 1 ? 'is given more than once' : `is not ${wanted}` });
  }
  return problems.length > 0 ? { problems } : { query: read as unknown as AuditQuery };
}

interface Reader {
  readonly member: keyof AuditQuery;
  readonly parse: (text: string) => unknown;
  readonly wanted: string;
}

const time = { parse: readTime, wanted: 'a time such as 2026-11-21T08:00:00Z (RFC 3339; in an address write + as %2B)' };
const name = { parse: (text: string) => (text === '' ? undefined : text), wanted: 'a name' };

const readers: Readonly<Record<Parameter, Reader>> = {
  from: { member: 'from', ...time },
  to: { member: 'to', ...time },
  principal: { member: 'principal', ...name },
  adapter: { member: 'adapter', ...name },
  outcome: {
    member: 'outcome',
    parse: (text) => auditOutcomes.find((outcome) => outcome === text),
    wanted: `one of ${auditOutcomes.join(', ')}`,
  },
  limit: {
    member: 'limit',
    parse: (text) => (/^[1-9]\d{0,3}$/u.test(text) && Number(text) <= auditPage.most ? Number(text) : undefined),
    wanted: `a whole number from 1 to ${auditPage.most}`,
  },
  cursor: { member: 'after', parse: readCursor, wanted: 'a cursor of this route; take it from the reply before as it is' },
};

function readTime(text: string): number | undefined {
  const read = readTimestamp(text);
  return read === undefined ? undefined : Date.parse(read);
}

export function writeCursor({ at, chain, seq, index }: RecordPosition): string {
  return Buffer.from(JSON.stringify([at, chain, seq, ...(index === undefined ? [] : [index])])).toString('base64url');
}

/** The position in a cursor, or undefined for any other text. */
export function readCursor(text: string): RecordPosition | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (!Array.isArray(value)) return undefined;
    const [at, chain, ...places] = value as readonly unknown[];
    if (typeof chain !== 'string' || !chain.isWellFormed() || chain.includes('\0')) return undefined;
    if (places.length < 1 || places.length > 2 || ![at, ...places].every(Number.isSafeInteger)) return undefined;
    const [seq, index] = places as [number, number?];
    return { at: at as number, chain, seq, ...(index === undefined ? {} : { index }) };
  } catch {
    return undefined;
  }
}
