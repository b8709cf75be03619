/** Why a due time began no run. */
export const skipCodes = [
  'running',
  'suspended',
  'workflow-missing',
  'input-invalid',
  'delegation-lost',
  'person-not-seen',
  'person-gone',
  'quota-reached',
] as const;

export type SkipCode = (typeof skipCodes)[number];

export interface LastSkip {
  /** ISO 8601. */
  readonly due: string;
  readonly code: SkipCode;
  /** A sentence. */
  readonly reason: string;
}

/** docs/reference/http-api.md. A field without a value is absent, never null. */
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
  /** The ETag does not cover it. */
  readonly lastSkip?: LastSkip | undefined;
  /** What only a newer version knows: a write keeps it, and the ETag covers it. No reply has it. */
  readonly unknown?: UnknownMembers | undefined;
}

/** Members of a stored document, and of its `data`. */
interface UnknownMembers {
  readonly document?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface AutomationData {
  readonly gbac?: GroupLists;
  readonly lastUpdated?: string;
  /** From `AutomationPeople`; not in stored documents. */
  readonly owner?: string;
  readonly scheduledBy?: string;
  readonly description?: string;
  readonly workflowId?: string;
  /** Absent: the newest release at each start. */
  readonly workflowVersion?: string;
  readonly formId?: string;
  /** An IANA name; absent: UTC. */
  readonly timeZone?: string;
  /** Five fields; never together with `repeatInterval`. */
  readonly cron?: string;
  /** What `repeatInterval` counts from, set by the gateway; the ETag does not cover it. */
  readonly scheduleFrom?: string;
  /** Of scheduled runs. Numbers that a double would change are raw JSON (json/parse-json.ts). */
  readonly input?: Readonly<Record<string, unknown>>;
}

/** An empty or missing `read` list admits every role that may list. */
interface GroupLists {
  readonly write?: readonly string[];
  readonly read?: readonly string[];
}

/** A listing can be sorted and searched by these. */
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

export function textOf(automation: Automation, field: TextField): string | undefined {
  return readers[field](automation);
}

/** Undefined: every role that may list sees it. */
export function readersOf({ data }: Automation): ReadonlySet<string> | undefined {
  const { read = [], write = [] } = data?.gbac ?? {};
  return read.length === 0 ? undefined : new Set([...read, ...write]);
}
