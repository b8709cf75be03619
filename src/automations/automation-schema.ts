import { type JsonSchema, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/closed-object.ts';
import { longestInput } from './automation-input.ts';
import { cronForm } from './cron.ts';
import { skipCodes } from './last-skip.ts';
import { repeatIntervalForm } from './repeat-interval.ts';

/** Limits of a document. A PostgreSQL index row has at most 2,704 bytes, which limits the texts that a listing can be sorted by. */
export const documentLimits = {
  /** Characters (code points). */
  text: 256,
  /** Bytes of a name's sort key in UTF-8. */
  nameKey: 1_024,
  /** Bytes of any other sort key in UTF-8. */
  key: 512,
  groups: 1_000,
  /** Bytes of the document as JSON text, so that every exported line can be imported. */
  document: 1_048_576,
} as const;

const name = Type.String({
  minLength: 1,
  maxLength: documentLimits.text,
  description: 'Name of the automation; no two have the same.',
});
const short = (description: string) => Type.String({ maxLength: documentLimits.text, description });
type Time = (description: string) => JsonSchema;

/** A timestamp in a reply: in UTC, with milliseconds and `Z`. */
const keptTime: Time = (description) => Type.String({ format: 'date-time', description });
/** A timestamp in a request, with any offset. `timestamp.ts` validates it: the `date-time` format of a schema has other rules. */
const givenTime: Time = (description) => Type.String({ description: `${description} RFC 3339, any offset; kept in UTC.` });
const groups = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: documentLimits.text }), { maxItems: documentLimits.groups, description });

const fieldsWith = (time: Time) => ({
  lastRunAt: time('When its schedule last began a run.'),
  nextRunAt: time('When it runs next.'),
  repeatInterval: Type.String({ description: `A count and a unit, such as \`${repeatIntervalForm}\`; absent: not repeated.` }),
});
const dataFields = {
  description: Type.String({ description: 'Description of the automation.' }),
  workflowId: short('Identifier of the workflow that it runs.'),
  workflowVersion: short('Version of the workflow that it runs; absent: the newest release at each start.'),
  formId: short('Identifier of the form that it uses.'),
  timeZone: short('Time zone of its schedule, a name of the IANA database; absent: UTC.'),
  cron: short(`When it runs, as five fields of cron, such as \`${cronForm}\`; never together with \`repeatInterval\`.`),
  input: Type.Object({}, { description: `Input of scheduled runs, of at most ${longestInput} bytes as JSON text.` }),
};
const lists = {
  write: groups('Groups with write access; empty or absent: every role that may write.'),
  read: groups('Groups with read access; empty or absent: every role that may list.'),
};

/** Fields that the gateway sets: `_id` when the automation is created, the others with each change. */
const id = Type.String({ description: 'Identifier of the automation.' });
const lastModifiedBy = short('Who changed it last; set by the gateway.');
const scheduleFromAs = (time: Time): JsonSchema => time('What `repeatInterval` counts from; set by the gateway.');
const lastUpdatedAs = (time: Time): JsonSchema => time('When it was last changed; set by the gateway.');
const people = {
  owner: Type.String({ description: 'Who changed last what it runs; read-only.' }),
  scheduledBy: Type.String({ description: 'Who changed its schedule last; read-only.' }),
};
const ignored = Type.Optional(Type.Unknown({ description: 'Set by the gateway; a value in the request is ignored.' }));

const gbac = Type.Optional(
  namedObject('AutomationGroups', { write: Type.Optional(lists.write), read: Type.Optional(lists.read) }),
);
/** What a reply has in addition to the document, so that a caller may send back what it got. */
const ignoredFields = { lastModifiedBy: ignored, lastSkip: ignored, warnings: ignored };
const ignoredPeople = { owner: ignored, scheduledBy: ignored };
const dataWith = (title: string, set: Readonly<Record<'lastUpdated' | 'owner' | 'scheduleFrom' | 'scheduledBy', JsonSchema>>) =>
  Type.Optional(namedObject(title, { gbac, ...optional(set), ...optional(dataFields) }));
const setAs = (time: Time) => ({ lastUpdated: lastUpdatedAs(time), scheduleFrom: scheduleFromAs(time) });

const lastSkip = namedObject('AutomationSkip', {
  due: keptTime('The due time.'),
  code: Type.Enum([...skipCodes]),
  reason: Type.String({ description: 'The same in a sentence.' }),
});
const warning = namedObject('AutomationWarning', {
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

/** An automation as it is listed. */
export const automationSchema = namedObject('Automation', automationFields);

/** An automation as a write of it is answered. */
export const storedAutomationSchema = namedObject('StoredAutomation', {
  ...automationFields,
  warnings: Type.Optional(Type.Array(warning, { description: 'Why its schedule can begin no run.' })),
});

/** A line of an import, which keeps fields that the gateway sets otherwise. It does not say who answers for what it holds. */
export const importedAutomationSchema = namedObject('ImportedAutomation', {
  _id: Type.Optional(id),
  name,
  data: dataWith('ImportedAutomationData', { ...setAs(givenTime), ...ignoredPeople }),
  ...ignoredFields,
  ...optional(fieldsWith(givenTime)),
});

/** An automation as a caller gives it. */
export const givenAutomationSchema = namedObject('GivenAutomation', {
  _id: ignored,
  name,
  data: dataWith('GivenAutomationData', { lastUpdated: ignored, scheduleFrom: ignored, ...ignoredPeople }),
  ...ignoredFields,
  ...optional(fieldsWith(givenTime)),
});

/** A merge patch (RFC 7396): any part of an automation, null to remove a member. The name cannot be removed. */
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
