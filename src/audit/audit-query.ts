import {
  choiceParameter,
  cursorMembers,
  cursorParameter,
  limitParameter,
  type ParameterReader,
  type ReadQuery,
  readParameters,
  timeParameter,
} from '#base/query-parameters.ts';
import { type AuditFacts, type AuditOutcome, auditOutcomes } from './audit-entry.ts';

/** The filter and the page of `GET /audit`. */
export interface AuditQuery {
  /** Milliseconds since the epoch; both ends are inclusive. */
  readonly from?: number;
  readonly to?: number;
  readonly principal?: string;
  readonly adapter?: string;
  /** A part of the address or path of a call, such as the name of a device. */
  readonly address?: string;
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

const name: ParameterReader = { parse: (text) => (text === '' ? undefined : text), wanted: 'a name' };

const readers = {
  from: timeParameter,
  to: timeParameter,
  principal: name,
  adapter: name,
  address: { ...name, wanted: 'a part of an address' },
  outcome: choiceParameter(auditOutcomes),
  limit: limitParameter(auditPage.most),
  cursor: cursorParameter(readCursor),
};

/** Parses the parameters of `GET /audit` and collects all problems. */
export function readAuditQuery(parameters: URLSearchParams): ReadQuery<AuditQuery> {
  const read = readParameters(parameters, readers);
  if ('problems' in read) return read;
  const { cursor: after, ...values } = read.values;
  return { query: { limit: auditPage.usual, ...values, ...(after === undefined ? {} : { after }) } as AuditQuery };
}

export function writeCursor({ at, chain, seq, index }: RecordPosition): string {
  return Buffer.from(JSON.stringify([at, chain, seq, ...(index === undefined ? [] : [index])])).toString('base64url');
}

/** The position in a cursor, or undefined for any other text. */
export function readCursor(text: string): RecordPosition | undefined {
  const [at, chain, ...places] = cursorMembers(text);
  if (typeof chain !== 'string' || !chain.isWellFormed() || chain.includes('\0')) return undefined;
  if (places.length < 1 || places.length > 2 || ![at, ...places].every(Number.isSafeInteger)) return undefined;
  const [seq, index] = places as [number, number?];
  return { at: at as number, chain, seq, ...(index === undefined ? {} : { index }) };
}
