import { type JsonSchema, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { skipCodes } from './automation.ts';
import { repeatIntervalForm } from './timing/repeat-interval.ts';
import { cronForm } from './timing/schedule.ts';

/** A PostgreSQL index row has at most 2,704 bytes, which limits the texts that a listing can be sorted by. */
export const documentLimits = {
  /** Code points. */
  text: 256,
  /** Bytes of a name's sort key. */
  nameKey: 1_024,
  /** Bytes of any other sort key. */
  key: 512,
  groups: 1_000,
  /** Bytes of JSON text, so that every exported line can be imported. */
  document: 1_048_576,
  /** Bytes of `data.input` as JSON text. */
  input: 262_144,
} as const;

const name = Type.String({
  minLength: 1,
  maxLength: documentLimits.text,
  description: `1 to ${documentLimits.text} characters, unique in the catalogue; compared exactly.`,
});
const short = (description: string) => Type.String({ maxLength: documentLimits.text, description });
type Time = (description: string) => JsonSchema;

/** UTC, with milliseconds and `Z`. */
const keptTime: Time = (description) => Type.String({ format: 'date-time', description });
/** Validated by `timestamp.ts`: the format `date-time` of a schema has other rules. */
const givenTime: Time = (description) => Type.String({ description: `${description} RFC 3339, any offset; kept in UTC.` });
const groups = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: documentLimits.text }), { maxItems: documentLimits.groups, description });

const fieldsWith = (time: Time) => ({
  lastRunAt: time('When its schedule last began a run.'),
  nextRunAt: time('When it runs next.'),
  repeatInterval: Type.String({ description: `A count and a unit, such as \`${repeatIntervalForm}\`; absent: not repeated.` }),
});
const dataFields = {
  description: Type.String({ description: 'Free text.' }),
  workflowId: short(`The workflow that it runs, up to ${documentLimits.text} characters.`),
  workflowVersion: short('The version of the workflow that it runs; absent: the newest release at each start.'),
  formId: short(`The form that it uses, up to ${documentLimits.text} characters.`),
  timeZone: short('Time zone of its schedule, a name of the IANA database such as `Europe/Berlin`; absent: UTC.'),
  cron: short(`When it runs, as five fields of cron, such as \`${cronForm}\`; never together with \`repeatInterval\`.`),
  input: Type.Object(
    {},
    {
      description: `The input of scheduled runs, up to ${documentLimits.input / 1024} KiB of JSON and 10,000 values; numbers keep their digits.`,
    },
  ),
};
const lists = {
  write: groups('Groups that may read and write it; empty or absent: every role that may write.'),
  read: groups('Groups that may read it; empty or absent: every role that may list.'),
};

/** Set by the gateway: `_id` at the creation, the others with each change. */
const id = Type.String({
  description: 'Identifier: 24 hexadecimal digits. An import may bring its own, 1 to 128 characters of `A-Z a-z 0-9 . _ -`.',
});
const lastModifiedBy = short('Who changed it last; the ETag does not cover it.');
const people = {
  owner: Type.String({ description: 'Who changed last what it runs; the ETag does not cover it.' }),
  scheduledBy: Type.String({ description: 'Who changed its schedule last; the ETag does not cover it.' }),
};
const ignored = Type.Optional(Type.Unknown({ description: 'Set by the gateway; a value in the request is ignored.' }));

const gbac = Type.Optional(
  namedObject('AutomationGroups', { write: Type.Optional(lists.write), read: Type.Optional(lists.read) }),
);
/** A caller may send back what it got. */
const ignoredFields = { lastModifiedBy: ignored, lastSkip: ignored, lastRuns: ignored, warnings: ignored };
const ignoredPeople = { owner: ignored, scheduledBy: ignored };
const dataWith = (title: string, set: Readonly<Record<'lastUpdated' | 'owner' | 'scheduleFrom' | 'scheduledBy', JsonSchema>>) =>
  Type.Optional(namedObject(title, { gbac, ...optional(set), ...optional(dataFields) }));
const setAs = (time: Time) => ({
  lastUpdated: time('When it was last changed.'),
  scheduleFrom: time('What `repeatInterval` counts from; the ETag does not cover it.'),
});

const lastSkip = namedObject('AutomationSkip', {
  due: keptTime('The last due time that began no run. The ETag does not cover `lastSkip`, and an export leaves it out.'),
  code: Type.Enum([...skipCodes], { description: 'Why it began none.' }),
  reason: Type.String({ description: 'The same in a sentence.' }),
});
export const warningSchema = namedObject('AutomationWarning', {
  pointer: Type.String({ description: 'JSON pointer into the automation; empty: all of it.' }),
  detail: Type.String(),
});

const automationFields = {
  _id: id,
  name,
  data: dataWith('AutomationData', { ...setAs(keptTime), ...people }),
  lastModifiedBy: Type.Optional(lastModifiedBy),
  ...optional(fieldsWith(keptTime)),
  lastSkip: Type.Optional(lastSkip),
};

export const automationSchema = namedObject('Automation', automationFields);

/** `statuses`: of runs. */
export function listedAutomationSchema(statuses: readonly string[]) {
  const lastRun = namedObject('LastRun', {
    id: Type.String(),
    status: Type.Enum([...statuses]),
    endedAt: Type.Optional(keptTime('Absent while it is under way.')),
  });
  return namedObject('ListedAutomation', {
    ...automationFields,
    lastRuns: Type.Optional(Type.Array(lastRun, { description: 'With `runs`: its newest runs, the newest first.' })),
  });
}

/** The reply to a write. */
export const storedAutomationSchema = namedObject('StoredAutomation', {
  ...automationFields,
  warnings: Type.Optional(Type.Array(warningSchema, { description: 'Why its schedule can begin no run.' })),
});

/** A line of an import, which keeps what the gateway sets otherwise, but for the people. */
export const importedAutomationSchema = namedObject('ImportedAutomation', {
  _id: Type.Optional(id),
  name,
  data: dataWith('ImportedAutomationData', { ...setAs(givenTime), ...ignoredPeople }),
  ...ignoredFields,
  ...optional(fieldsWith(givenTime)),
});

export const givenAutomationSchema = namedObject('GivenAutomation', {
  _id: ignored,
  name,
  data: dataWith('GivenAutomationData', { lastUpdated: ignored, scheduleFrom: ignored, ...ignoredPeople }),
  ...ignoredFields,
  ...optional(fieldsWith(givenTime)),
});

/** A merge patch (RFC 7396). The name cannot be removed. */
export const automationPatchSchema = namedObject('AutomationPatch', {
  _id: ignored,
  name: Type.Optional(name),
  data: removable(
    namedObject('AutomationPatchData', {
      gbac: removable(namedObject('AutomationPatchGroups', removables(lists))),
      lastUpdated: ignored,
      scheduleFrom: ignored,
      ...ignoredPeople,
      ...removables(dataFields),
    }),
  ),
  ...ignoredFields,
  ...removables(fieldsWith(givenTime)),
});

function optional(schemas: Readonly<Record<string, JsonSchema>>) {
  return Object.fromEntries(Object.entries(schemas).map(([field, schema]) => [field, Type.Optional(schema)]));
}

function removables(schemas: Readonly<Record<string, JsonSchema>>) {
  return Object.fromEntries(Object.entries(schemas).map(([field, schema]) => [field, removable(schema)]));
}

function removable(schema: JsonSchema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
