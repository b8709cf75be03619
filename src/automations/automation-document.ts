import { randomBytes } from 'node:crypto';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { isSemanticVersion } from '#base/text/semantic-version.ts';
import { readTimestamp } from '#base/text/timestamp.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { schemaProblems } from '#json/forms/schema-problems.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import type { Automation, AutomationData } from './automation.ts';
import { documentLimits, givenAutomationSchema, importedAutomationSchema } from './automation-schema.ts';
import { documentText } from './store/automation-row.ts';
import { sortKey } from './store/sort-key.ts';
import { parseRepeatInterval } from './timing/repeat-interval.ts';
import { cronFault, resumeWord, steeringOf, timeZoneFault } from './timing/schedule.ts';

/** As a caller gives it, timestamps with any offset. Fields that the gateway sets may have any value. */
export type GivenAutomation = Omit<Automation, '_id' | 'lastModifiedBy' | 'lastSkip' | 'data'> & {
  readonly data?: Omit<AutomationData, 'lastUpdated' | 'scheduleFrom'>;
};

type ImportedAutomation = Omit<Automation, '_id'> & { readonly _id?: string };

/** 24 lower-case hexadecimal digits. */
export function generateId(): string {
  return randomBytes(12).toString('hex');
}

/** docs/reference/http-api.md */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/u.test(text) && text !== '.' && text !== '..';
}

const problemsOfImported = schemaProblems(importedAutomationSchema);

/** Answers every problem of a line with its JSON pointer (RFC 6901), or the automation with its timestamps in UTC. */
export async function readImported(
  value: unknown,
): Promise<{ readonly automation: ImportedAutomation } | { readonly problems: readonly RequestProblem[] }> {
  const problems = [
    ...(await problemsOfImported(value)),
    ...faultAt(value, '/_id', idFault),
    ...contentProblems(value),
    ...faultAt(value, '/data/lastUpdated', timeFault),
    ...faultAt(value, '/data/scheduleFrom', timeFault),
  ];
  if (problems.length > 0) return { problems };
  const automation = inUtc(value as ImportedAutomation);
  const { data } = automation;
  return {
    automation: { ...automation, ...(data && { data: { ...data, ...utc(data, 'lastUpdated'), ...utc(data, 'scheduleFrom') } }) },
  };
}

function idFault(text: string): string | undefined {
  return isId(text) ? undefined : 'must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..';
}

/** What a schema cannot express, of an automation or of a patch. Members of a wrong type are left to the schema. */
export function contentProblems(value: unknown): readonly RequestProblem[] {
  return [
    ...faultAt(value, '/lastRunAt', timeFault),
    ...faultAt(value, '/nextRunAt', timeFault),
    ...faultAt(value, '/repeatInterval', intervalFault),
    ...faultAt(value, '/data/timeZone', timeZoneFault),
    ...faultAt(value, '/data/cron', cronFault),
    ...faultAt(value, '/data/workflowVersion', versionFault),
    ...contradictions(value),
    ...faultAt(value, '/name', keyFault(documentLimits.nameKey)),
    ...faultAt(value, '/data/workflowId', keyFault(documentLimits.key)),
    ...faultAt(value, '/data/formId', keyFault(documentLimits.key)),
  ];
}

/** In a patch `nextRunAt` may be `next`. */
export function patchProblems(patch: unknown): readonly RequestProblem[] {
  if (steeringOf(patch) !== undefined) return [];
  if (textAt(patch, '/nextRunAt') !== resumeWord) return contentProblems(patch);
  const { nextRunAt: _, ...rest } = patch as Readonly<Record<string, unknown>>;
  return [
    { pointer: '/nextRunAt', detail: 'is "next", which is alone in a patch; send the rest in another one' },
    ...contentProblems(rest),
  ];
}

function faultAt(value: unknown, pointer: string, faultOf: (text: string) => string | undefined): readonly RequestProblem[] {
  const text = textAt(value, pointer);
  const detail = text === undefined ? undefined : faultOf(text);
  return detail === undefined ? [] : [{ pointer, detail }];
}

function timeFault(text: string): string | undefined {
  if (readTimestamp(text) !== undefined) return undefined;
  return 'must be an RFC 3339 date and time, in UTC not beyond the year 9999, such as "2026-03-01T22:00:00.000Z" or "2026-03-02T00:00:00+02:00"';
}

function intervalFault(text: string): string | undefined {
  const interval = parseRepeatInterval(text);
  return interval.kind === 'fault' ? interval.detail : undefined;
}

function versionFault(text: string): string | undefined {
  if (isSemanticVersion(text)) return undefined;
  return 'must be a version such as 1.2.0 or 2.0.0-rc.1; leave it out for the newest release at each start';
}

function contradictions(value: unknown): readonly RequestProblem[] {
  if (textAt(value, '/repeatInterval') === undefined || textAt(value, '/data/cron') === undefined) return [];
  return [
    { pointer: '/data/cron', detail: 'is given together with repeatInterval; leave one of the two out' },
    { pointer: '/repeatInterval', detail: 'is given together with data.cron; leave one of the two out' },
  ];
}

/** A merge patch can make them although document and patch are valid. */
export function refuseContradictions(automation: GivenAutomation): void {
  const problems = [...contradictions(automation), ...inputProblems(automation.data?.input)];
  if (problems.length > 0) throw invalidRequest(problems);
}

/** Some characters fold to many: U+FDFA to eighteen. */
function keyFault(limit: number): (text: string) => string | undefined {
  return (text) =>
    // The schema names longer ones.
    text.length > 2 * documentLimits.text || sortKey(text).length <= limit
      ? undefined
      : `is too long to be sorted by: without case and accents it may have ${limit} bytes`;
}

function textAt(value: unknown, pointer: string): string | undefined {
  let found: unknown = value;
  for (const name of pointer.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return typeof found === 'string' ? found : undefined;
}

export function inUtc<Given extends GivenAutomation>(automation: Given): Given {
  return { ...automation, ...utc(automation, 'lastRunAt'), ...utc(automation, 'nextRunAt') };
}

function utc<Field extends string>(
  holder: Readonly<Partial<Record<Field, string>>>,
  field: Field,
): Partial<Record<Field, string>> {
  const text = holder[field];
  const kept = text === undefined ? undefined : readTimestamp(text);
  return (kept === undefined ? {} : { [field]: kept }) as Partial<Record<Field, string>>;
}

/** Keeps every document within a line of an import. */
export function refuseTooLarge(automation: Automation): void {
  if (Buffer.byteLength(documentText(automation)) <= documentLimits.document) return;
  throw new GatewayError(
    'body-too-large',
    `The automation would have more than ${documentLimits.document} bytes as JSON text; shorten it.`,
  );
}

/** Truncated to the limits of `lastModifiedBy`. */
export function modifierName(username: string): string {
  let name = Array.from(username).slice(0, documentLimits.text).join('');
  while (sortKey(name).length > documentLimits.key) name = Array.from(name).slice(0, -16).join('');
  return name;
}

/** In a document, a merge patch or a line of an import. A request is read without it. */
export const inputPointer = '/data/input';

/** Puts the input into the value that was read without it. Its numbers keep their digits. */
export function withInput(value: unknown, spans: ReadonlyMap<string, Buffer>) {
  const bytes = spans.get(inputPointer);
  const { data } = (value ?? {}) as { readonly data?: unknown };
  // An input that is no object is left to the schema.
  if (bytes === undefined || bytes[0] !== openingBrace || typeof data !== 'object') return { value, problems: [] };
  if (bytes.length > documentLimits.input) return { value, problems: [inputTooLong] };
  try {
    const { value: input } = readEnvelope(bytes, { opaque: [], exactNumbers: true });
    return { value: { ...(value as object), data: { ...data, input } }, problems: [] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { errors = [{ pointer: '', detail: error.message }] } = error;
    return { value, problems: errors.map(({ pointer, detail }) => ({ pointer: `${inputPointer}${pointer}`, detail })) };
  }
}

const openingBrace = 0x7b;

/** What a caller would create, and what is wrong with its form. */
export interface AutomationDraft {
  readonly given: unknown;
  readonly problems: readonly RequestProblem[];
}

const problemsOfGiven = schemaProblems(givenAutomationSchema);

/** The body of a request to create an automation, with every problem of its form. `spans`: see `withInput`. */
export async function readDraft(body: unknown, spans: ReadonlyMap<string, Buffer>): Promise<AutomationDraft> {
  const { value: given, problems } = withInput(body, spans);
  return { given, problems: [...(await problemsOfGiven(body)), ...contentProblems(body), ...problems] };
}

/** A merge patch can make an input too long. */
function inputProblems(input: unknown): readonly RequestProblem[] {
  return input !== undefined && Buffer.byteLength(JSON.stringify(input)) > documentLimits.input ? [inputTooLong] : [];
}

const inputTooLong = { pointer: inputPointer, detail: `has more than ${documentLimits.input} bytes as JSON text; shorten it` };
