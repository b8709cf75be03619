import type { LastSkip } from './last-skip.ts';

/** An automation as the catalogue lists it (docs/reference/http-api.md). A field without a value is absent, never null. */
export interface Automation {
  readonly _id: string;
  readonly name: string;
  readonly data?: AutomationData;
  readonly lastModifiedBy?: string;
  /** Timestamps are ISO 8601 in UTC, with milliseconds and `Z`. */
  readonly lastRunAt?: string;
  readonly nextRunAt?: string;
  /** `<count> <unit>`; absent means not repeated. */
  readonly repeatInterval?: string;
  /** Its schedule writes it; the ETag does not cover it. */
  readonly lastSkip?: LastSkip | undefined;
}

export interface AutomationData {
  readonly gbac?: GroupLists;
  readonly lastUpdated?: string;
  /** Names of people, from `AutomationPeople`. No document that is stored has them. */
  readonly owner?: string;
  readonly scheduledBy?: string;
  readonly description?: string;
  readonly workflowId?: string;
  /** The version that runs; absent: the newest release at each start. */
  readonly workflowVersion?: string;
  readonly formId?: string;
  /** A name of the IANA time zone database; absent: UTC. */
  readonly timeZone?: string;
  /** Five fields; never together with `repeatInterval`. */
  readonly cron?: string;
  /** What `repeatInterval` counts from. The gateway sets it; the ETag does not cover it. */
  readonly scheduleFrom?: string;
  /** The input of scheduled runs. Numbers that a double would change are raw JSON (json/exact-json.ts). */
  readonly input?: Readonly<Record<string, unknown>>;
}

/** Group-based access control. With an empty or missing `read` list every role that may list sees the automation. */
interface GroupLists {
  readonly write?: readonly string[];
  readonly read?: readonly string[];
}

/** The fields that a listing can be sorted and searched by; all are texts. */
export const textFields = [
  '_id',
  'name',
  'lastModifiedBy',
  'lastRunAt',
  'nextRunAt',
  'repeatInterval',
  'data.description',
  'data.workflowId',
  'data.formId',
  'data.lastUpdated',
] as const;

export type TextField = (typeof textFields)[number];

const readers: Readonly<Record<TextField, (automation: Automation) => string | undefined>> = {
  _id: ({ _id }) => _id,
  name: ({ name }) => name,
  lastModifiedBy: ({ lastModifiedBy }) => lastModifiedBy,
  lastRunAt: ({ lastRunAt }) => lastRunAt,
  nextRunAt: ({ nextRunAt }) => nextRunAt,
  repeatInterval: ({ repeatInterval }) => repeatInterval,
  'data.description': ({ data }) => data?.description,
  'data.workflowId': ({ data }) => data?.workflowId,
  'data.formId': ({ data }) => data?.formId,
  'data.lastUpdated': ({ data }) => data?.lastUpdated,
};

/** The text of one field; undefined where the automation has no value for it. */
export function textOf(automation: Automation, field: TextField): string | undefined {
  return readers[field](automation);
}

/** The groups that may see an automation; undefined where every role that may list sees it. */
export function readersOf({ data }: Automation): ReadonlySet<string> | undefined {
  const { read = [], write = [] } = data?.gbac ?? {};
  return read.length === 0 ? undefined : new Set([...read, ...write]);
}
