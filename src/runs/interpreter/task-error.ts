import { cutText } from '#base/cut-text.ts';
import { type Catch, outcomeUnknown } from '#workflows/workflow.ts';
import { JsonValue } from './json-value.ts';

/** An error of the DSL: what `raise` raises, and what a `catch` takes. */
export interface TaskError {
  readonly type: string;
  readonly status: number;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  /** JSON pointer to the task that it comes from. */
  readonly instance: string;
}

/** An error that an effect ended with. The interpreter adds the task. */
export type EffectError = Omit<TaskError, 'instance'>;

const statuses = {
  configuration: 400,
  validation: 400,
  expression: 400,
  authentication: 401,
  authorization: 403,
  timeout: 408,
  communication: 500,
  runtime: 500,
} as const;

type StandardError = keyof typeof statuses;

const spelling = /^https:\/\/serverlessworkflow\.io\/(?:spec\/1\.0\.0\/errors|dsl\/errors\/types|errors\/types)\/([a-z]+)$/u;

const ofGateway = 'urn:orchestration-gateway:errors:';

/** Errors of a task whose call the gateway did not make. */
const refusals = {
  'secret-altered': 'The call has a secret in another spelling',
  'approval-rejected': 'People rejected the approval',
  'approval-expired': 'The approval has expired',
} as const;

type CallRefusal = keyof typeof refusals;

export function isCallRefusal(code: string): code is CallRefusal {
  return Object.hasOwn(refusals, code);
}

export function callRefusal(name: CallRefusal, detail: string): EffectError {
  return { type: `${ofGateway}${name}`, status: 403, title: refusals[name], detail };
}

/** An error of a standard type, with the status that the DSL gives the type. */
export function standardError(name: StandardError, title: string, detail?: string, status: number = statuses[name]): EffectError {
  return { type: standardType(name), status, title, detail };
}

function standardType(name: string): string {
  return `https://serverlessworkflow.io/spec/1.0.0/errors/${name}`;
}

export function unknownOutcome(detail: string): EffectError {
  return { type: outcomeUnknown, status: 504, title: 'Outcome unknown', detail };
}

/** A word for the type of an error. All types of which only workflows know are one: they may hold data. */
export function errorName({ type }: Pick<TaskError, 'type'>): string {
  const own = type.startsWith(ofGateway) ? type.slice(ofGateway.length) : '';
  if (type === outcomeUnknown || isCallRefusal(own)) return own;
  return spelling.exec(plainType(type))?.[1] ?? 'an error of the workflow';
}

/** The DSL's own texts spell a standard type in three ways, which count as one. */
function plainType(type: string): string {
  const name = spelling.exec(type)?.[1];
  return name !== undefined && Object.hasOwn(statuses, name) ? standardType(name) : type;
}

/**
 * Whether the filter of a `catch` lets the error in. Its `when` is another matter. An unknown outcome needs a filter that names its type:
 * otherwise people decide.
 */
export function matchesFilter(error: TaskError, filter: Catch['errors']): boolean {
  if (error.type === outcomeUnknown && filter?.type !== outcomeUnknown) return false;
  if (filter === undefined) return true;
  if (filter.type !== undefined && plainType(filter.type) !== plainType(error.type)) return false;
  const members = ['status', 'instance', 'title', 'detail'] as const;
  return members.every((name) => filter[name] === undefined || filter[name] === error[name]);
}

/** The error as the value of `$error`. */
export function errorValue({ type, status, title, detail, instance }: TaskError): JsonValue {
  return new JsonValue(JSON.stringify({ type, status, title, detail, instance }));
}

/** Reads what `raise` gives. Undefined without a type or a whole number as status. */
export function readError(value: JsonValue, instance: string): TaskError | undefined {
  const read: unknown = JSON.parse(value.text);
  if (typeof read !== 'object' || read === null) return undefined;
  const { type, status, title, detail, instance: written } = read as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || !Number.isInteger(status)) return undefined;
  return {
    type: cutText(type),
    status: status as number,
    title: textOf(title),
    detail: textOf(detail),
    instance: typeof written === 'string' ? cutText(written) : instance,
  };
}

function textOf(member: unknown): string | undefined {
  if (member === undefined || member === null) return undefined;
  return cutText(typeof member === 'string' ? member : JSON.stringify(member));
}
