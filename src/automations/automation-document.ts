import { randomBytes } from 'node:crypto';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { isSemanticVersion } from '#base/semantic-version.ts';
import { readTimestamp } from '#base/timestamp.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { schemaProblems } from '#json/schema-problems.ts';
import type { Automation, AutomationData } from './automation.ts';
import { inputProblems } from './automation-input.ts';
import { documentText } from './automation-row.ts';
import { documentLimits, importedAutomationSchema } from './automation-schema.ts';
import { cronFault } from './cron.ts';
import { parseRepeatInterval } from './repeat-interval.ts';
import { sortKey } from './sort-key.ts';
import { resumeWord, steeringOf } from './steered-schedule.ts';
import { timeZoneFault } from './time-zone.ts';

/** An automation as a caller gives it, its timestamps with any offset. Fields that the gateway sets may be there, with any value. */
export type GivenAutomation = Omit<Automation, '_id' | 'lastModifiedBy' | 'lastSkip' | 'data'> & {
  readonly data?: Omit<AutomationData, 'lastUpdated' | 'scheduleFrom'>;
};

/** An automation as an import has it: with every field, the `_id` optional. */
type ImportedAutomation = Omit<Automation, '_id'> & { readonly _id?: string };

/** 24 lower-case hexadecimal digits. */
export function generateId(): string {
  return randomBytes(12).toString('hex');
}

/** What an `_id` may be (docs/reference/http-api.md). */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/u.test(text) && text !== '.' && text !== '..';
}

const schemaProblemsOf = schemaProblems(importedAutomationSchema);

/** Validates a line of an import: answers every problem with its JSON pointer (RFC 6901), or the automation with its timestamps in UTC. */
export function readImported(
  value: unknown,
):
  | { readonly kind: 'automation'; readonly automation: ImportedAutomation }
  | { readonly kind: 'problems'; readonly problems: readonly RequestProblem[] } {
  const problems = [
    ...schemaProblemsOf(value),
    ...idProblems(value),
    ...contentProblems(value),
    ...timeProblems(value, '/data/lastUpdated'),
    ...timeProblems(value, '/data/scheduleFrom'),
  ];
  if (problems.length > 0) return { kind: 'problems', problems };
  const automation = inUtc(value as ImportedAutomation);
  const { data } = automation;
  return {
    kind: 'automation',
    automation: { ...automation, ...(data && { data: { ...data, ...utc(data, 'lastUpdated'), ...utc(data, 'scheduleFrom') } }) },
  };
}

function idProblems(value: unknown): readonly RequestProblem[] {
  const id = textAt(value, '/_id');
  if (id === undefined || isId(id)) return [];
  return [{ pointer: '/_id', detail: 'must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..' }];
}

/** The problems that a schema cannot express, of an automation or of a patch. Members of a wrong type are ignored: the schema names them. */
export function contentProblems(value: unknown): readonly RequestProblem[] {
  return [
    ...timeProblems(value, '/lastRunAt'),
    ...timeProblems(value, '/nextRunAt'),
    ...intervalProblems(value),
    ...faultAt(value, '/data/timeZone', timeZoneFault),
    ...faultAt(value, '/data/cron', cronFault),
    ...faultAt(value, '/data/workflowVersion', versionFault),
    ...contradictions(value),
    ...keyProblems(value, '/name', documentLimits.nameKey),
    ...keyProblems(value, '/data/workflowId', documentLimits.key),
    ...keyProblems(value, '/data/formId', documentLimits.key),
  ];
}

/** As `contentProblems`, of a patch, in which `nextRunAt` may be `next`. */
export function patchProblems(patch: unknown): readonly RequestProblem[] {
  if (steeringOf(patch) !== undefined) return [];
  if (textAt(patch, '/nextRunAt') !== resumeWord) return contentProblems(patch);
  const { nextRunAt: _, ...rest } = patch as Readonly<Record<string, unknown>>;
  return [
    { pointer: '/nextRunAt', detail: 'is "next", which is alone in a patch; send the rest in another one' },
    ...contentProblems(rest),
  ];
}

function timeProblems(value: unknown, pointer: string): readonly RequestProblem[] {
  const text = textAt(value, pointer);
  if (text === undefined || readTimestamp(text) !== undefined) return [];
  const detail =
    'must be an RFC 3339 date and time, in UTC not beyond the year 9999, such as "2026-03-01T22:00:00.000Z" or "2026-03-02T00:00:00+02:00"';
  return [{ pointer, detail }];
}

function intervalProblems(value: unknown): readonly RequestProblem[] {
  const text = textAt(value, '/repeatInterval');
  if (text === undefined) return [];
  const read = parseRepeatInterval(text);
  return read.kind === 'fault' ? [{ pointer: '/repeatInterval', detail: read.detail }] : [];
}

function faultAt(value: unknown, pointer: string, faultOf: (text: string) => string | undefined): readonly RequestProblem[] {
  const text = textAt(value, pointer);
  const detail = text === undefined ? undefined : faultOf(text);
  return detail === undefined ? [] : [{ pointer, detail }];
}

function versionFault(text: string): string | undefined {
  if (isSemanticVersion(text)) return undefined;
  return 'must be a version such as 1.2.0 or 2.0.0-rc.1; leave it out for the newest release at each start';
}

/** An automation has one schedule. */
function contradictions(value: unknown): readonly RequestProblem[] {
  if (textAt(value, '/repeatInterval') === undefined || textAt(value, '/data/cron') === undefined) return [];
  return [
    { pointer: '/data/cron', detail: 'is given together with repeatInterval; leave one of the two out' },
    { pointer: '/repeatInterval', detail: 'is given together with data.cron; leave one of the two out' },
  ];
}

/** Refuses what a merge patch can make of a document although both are valid. */
export function refuseContradictions(automation: GivenAutomation): void {
  const problems = [...contradictions(automation), ...inputProblems(automation.data?.input)];
  if (problems.length > 0) throw invalidRequest(problems);
}

/** A length limit of its own, because some characters fold to many: U+FDFA to eighteen. */
function keyProblems(value: unknown, pointer: string, limit: number): readonly RequestProblem[] {
  const text = textAt(value, pointer);
  // The schema names longer ones.
  if (text === undefined || text.length > 2 * documentLimits.text || sortKey(text).length <= limit) return [];
  return [{ pointer, detail: `is too long to be sorted by: without case and accents it may have ${limit} bytes` }];
}

/** The text at a JSON pointer of member names; undefined where there is no text. */
function textAt(value: unknown, pointer: string): string | undefined {
  let found: unknown = value;
  for (const name of pointer.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return typeof found === 'string' ? found : undefined;
}

/** The automation with its run facts in the stored form. Both have been validated. */
export function inUtc<Given extends GivenAutomation>(automation: Given): Given {
  return { ...automation, ...utc(automation, 'lastRunAt'), ...utc(automation, 'nextRunAt') };
}

/** An object with the timestamp in the stored form; empty where there is none. */
function utc<Field extends string>(
  holder: Readonly<Partial<Record<Field, string>>>,
  field: Field,
): Partial<Record<Field, string>> {
  const text = holder[field];
  const kept = text === undefined ? undefined : readTimestamp(text);
  return (kept === undefined ? {} : { [field]: kept }) as Partial<Record<Field, string>>;
}

/** Refuses a document that is longer than a line of an import may be. */
export function refuseTooLarge(automation: Automation): void {
  if (Buffer.byteLength(documentText(automation)) <= documentLimits.document) return;
  throw new GatewayError(
    'body-too-large',
    `The automation would have more than ${documentLimits.document} bytes as JSON text; shorten it.`,
  );
}

/** A user name as `lastModifiedBy`, truncated to the limits of the field. */
export function modifierName(username: string): string {
  let name = Array.from(username).slice(0, documentLimits.text).join('');
  while (sortKey(name).length > documentLimits.key) name = Array.from(name).slice(0, -16).join('');
  return name;
}
