import { cutText } from '#base/text/cut-text.ts';
import { callRefusals, ofGateway, standardStatuses, standardType } from '#workflows/error-types.ts';
import { type Catch, outcomeUnknown } from '#workflows/workflow.ts';
import { JsonValue } from './state/json-value.ts';

/** An error of the DSL: what `raise` raises, and what a `catch` takes. */
export interface TaskError {
  readonly type: string;
  readonly status: number;
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  /** JSON pointer to the task that it comes from. */
  readonly instance: string;
}

/** The interpreter adds the task. */
export type EffectError = Omit<TaskError, 'instance'>;

const spelling = /^https:\/\/serverlessworkflow\.io\/(?:spec\/1\.0\.0\/errors|dsl\/errors\/types|errors\/types)\/([a-z]+)$/u;

export function isCallRefusal(code: string): code is keyof typeof callRefusals {
  return Object.hasOwn(callRefusals, code);
}

export function callRefusal(name: keyof typeof callRefusals, detail: string): EffectError {
  return { type: `${ofGateway}${name}`, status: 403, title: callRefusals[name], detail };
}

/** An error of a standard type, with the status that the DSL gives the type. */
export function standardError(
  name: keyof typeof standardStatuses,
  title: string,
  detail?: string,
  status: number = standardStatuses[name],
): EffectError {
  return { type: standardType(name), status, title, detail };
}

export function unknownOutcome(detail: string): EffectError {
  return { type: outcomeUnknown, status: 504, title: 'Outcome unknown', detail };
}

/** A word for the type of an error. Types that only workflows know have one word: they may hold data. */
export function errorName({ type }: Pick<TaskError, 'type'>): string {
  const own = type.startsWith(ofGateway) ? type.slice(ofGateway.length) : '';
  if (type === outcomeUnknown || isCallRefusal(own)) return own;
  return spelling.exec(plainType(type))?.[1] ?? 'an error of the workflow';
}

/** The DSL's own texts spell a standard type in three ways, which count as one. */
function plainType(type: string): string {
  const name = spelling.exec(type)?.[1];
  return name !== undefined && Object.hasOwn(standardStatuses, name) ? standardType(name) : type;
}

/** Whether a `catch` takes the error, apart from its `when`. An unknown outcome needs a filter that names its type: otherwise people decide. */
export function matchesFilter(error: TaskError, filter: Catch['errors']): boolean {
  if (error.type === outcomeUnknown && filter?.type !== outcomeUnknown) return false;
  if (filter === undefined) return true;
  if (filter.type !== undefined && plainType(filter.type) !== plainType(error.type)) return false;
  const members = ['status', 'instance', 'title', 'detail'] as const;
  return members.every((name) => filter[name] === undefined || filter[name] === error[name]);
}

export function errorValue({ type, status, title, detail, instance }: TaskError): JsonValue {
  return new JsonValue(JSON.stringify({ type, status, title, detail, instance }));
}

/** Undefined without a type or a whole number as status. */
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
