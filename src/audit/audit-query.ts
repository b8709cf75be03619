import {
  choiceParameter,
  cursorMembers,
  dayParameter,
  nameParameter,
  type ParameterValues,
  pageParameters,
  type QueryParameter,
  zoneParameter,
} from '#base/text/query-parameters.ts';
import { type AuditFacts, type AuditOutcome, auditOutcomes } from './audit-entry.ts';

/** The filter and the page of `GET /audit`. */
export interface AuditQuery {
  /** Milliseconds since the epoch; both ends are inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly id?: string | undefined;
  readonly principal?: string | undefined;
  readonly adapter?: string | undefined;
  /** The `_id` or the name of an automation, workflow, form, approval or run. */
  readonly object?: string | undefined;
  /** The name of a device. */
  readonly device?: string | undefined;
  /** A part of the address or path of a call, or of an object. */
  readonly address?: string | undefined;
  /** A part of the address, an object, a device, the principal or the detail. */
  readonly search?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  /** Only calls of that run; with `task` and `id` only those of that task. No parameter of `GET /audit`. */
  readonly via?: NonNullable<AuditFacts['via']>;
  readonly limit: number;
  /** Only records after this one, in the order of the listing. */
  readonly after?: RecordPosition | undefined;
}

/** A position in the order of records: by time, then chain, then number in the chain, then number in the entry. */
export interface RecordPosition {
  readonly at: number;
  readonly chain: string;
  readonly seq: number;
  /** The number in an entry of several records, from 1. Undefined: the position of the whole entry. */
  readonly index?: number;
}

const auditPage = { usual: 100, max: 1_000 } as const;

function wordParameter(description: string, wanted?: string): QueryParameter<string, undefined> {
  return { ...nameParameter(description, wanted), parse: (text) => (text === '' ? undefined : text) };
}

/** The parameters of `GET /audit`. */
export const auditListQuery = {
  from: dayParameter('Only records of this time or later (RFC 3339), or of this day or later.', 'first'),
  to: dayParameter('Only records of this time or earlier (RFC 3339), or of this day or earlier; the day is included.', 'last'),
  timeZone: zoneParameter('Time zone (IANA) in which a day of `from` or `to` begins.'),
  id: wordParameter('Only the record with this `id`; `_` means `/`.'),
  principal: wordParameter('Only records of the principal with this name.'),
  adapter: wordParameter('Only calls to this adapter instance.'),
  object: wordParameter('Only records of the automation, workflow, form, approval or run with this `_id` or name.'),
  device: wordParameter('Only changes of the device with this name: in the path, or in the preview.'),
  search: wordParameter(
    'Only records that have this text in address, objects, devices, principal or detail. Upper and lower case differ.',
    'a text',
  ),
  address: wordParameter(
    'Only records that have this text in their address, or in `_id` or `name` of `automation`, `workflow`, `form`, `approval` or `run`, such as the name of a device.',
    'a part of an address',
  ),
  outcome: choiceParameter(auditOutcomes, 'Only calls with this outcome.'),
  ...pageParameters(auditPage, readCursor, { limit: 'Most records on the page.' }),
};

/** Where the entry of a record is; a text that is no id has no place. */
export function placeOfRecord(id: string): { readonly chain: string; readonly seq: number } {
  const [, chain = '', seq = -1] = /^([\w-]{1,64})[/_](\d{1,15})(?:\.\d{1,9})?$/u.exec(id) ?? [];
  return { chain, seq: Number(seq) };
}

/** The query that the parameters ask for. */
export function auditQueryOf({ from, to, timeZone, cursor, ...query }: ParameterValues<typeof auditListQuery>): AuditQuery {
  return { ...query, from: from?.(timeZone), to: to?.(timeZone), after: cursor };
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
