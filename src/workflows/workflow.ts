/** A CNCF Serverless Workflow document (DSL 1.0) after reading: `use` expanded, templates compiled to jq, `then` resolved to positions. */
export interface Workflow {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly summary?: string;
  /** JSON text (`$workflow.definition`), with the digits of its numbers. */
  readonly definition: string;
  readonly input: DataInput;
  readonly output: DataOutput;
  readonly secrets: readonly string[];
  readonly timeout?: Duration;
  /** Nothing that its tasks get and give is kept for readers. */
  readonly taskData?: false;
  readonly tasks: readonly Task[];
}

/** Gives exactly one result, else an error of type `expression`. Stays one expression within parentheses. Data is `.`, variables are `$name`. */
export interface Expression {
  readonly jq: string;
  /** JSON text of a constant, which need not be evaluated. */
  readonly constant?: string;
}

/** Inline or fetched once for each run. `pointer`: its place in the document. */
export interface DataSchema {
  readonly pointer: string;
  readonly document?: string;
  readonly resource?: ExternalResource;
}

/** Fetched like a restCall, under the outbound policy. */
export interface ExternalResource {
  /** Gives `{ uri, authentication? }`: `{ basic: { username, password } }` or `{ bearer: { token } }`. */
  readonly endpoint: Expression;
}

export interface DataInput {
  readonly schema?: DataSchema;
  readonly from?: Expression;
}

export interface DataOutput {
  readonly schema?: DataSchema;
  readonly as?: Expression;
}

/** ISO 8601. Years and months count from the moment of use. */
export type Duration = { readonly iso: string } | { readonly expression: Expression };

/** `index`: in the list of the task. */
export type Directive = 'continue' | 'exit' | 'end' | { readonly index: number };

interface TaskBase {
  readonly name: string;
  readonly reference: string;
  /** JSON text: `$task.definition`. */
  readonly definition: string;
  readonly if?: Expression;
  readonly input: DataInput;
  readonly output: DataOutput;
  readonly export: DataOutput;
  readonly timeout?: Duration;
  /** Nothing that it and the tasks in it get and give is kept for readers. */
  readonly taskData?: false;
  readonly then: Directive;
}

export type Task =
  | BatchTask
  | CallTask
  | DoTask
  | EmitTask
  | ForTask
  | ForkTask
  | FunctionTask
  | ListenTask
  | RaiseTask
  | RunTask
  | SetTask
  | SwitchTask
  | TryTask
  | WaitTask;

export type TaskKind = Task['kind'];

/** `http` and `openapi` are the DSL's own. All but `approval` take the one path of a call. */
export const functionNames = [
  'http',
  'openapi',
  'restCall',
  'orchestratorAction',
  'orchestratorQuery',
  'orchestratorRequest',
  'approval',
] as const;

export type FunctionName = (typeof functionNames)[number];

export interface CallTask extends TaskBase {
  readonly kind: 'call';
  readonly function: FunctionName;
  /** The arguments as written, with each `use` of an authentication replaced. */
  readonly with: Expression;
  readonly literals: CallLiterals;
  readonly document?: ExternalResource;
}

/** Literal arguments by which rights to a call are judged. */
export interface CallLiterals {
  readonly adapter?: string;
  /** Upper case. */
  readonly method?: string;
  /** At an orchestrator, or the address. */
  readonly path?: string;
  /** The document calls the action repeatable. */
  readonly repeatable?: true;
}

/** From `use.functions`. The arguments are the input of the body. */
export interface FunctionTask extends TaskBase {
  readonly kind: 'function';
  /** Absent: the input of the call. */
  readonly with?: Expression;
  readonly body: Task;
}

export interface DoTask extends TaskBase {
  readonly kind: 'do';
  readonly tasks: readonly Task[];
}

export interface EmitTask extends TaskBase {
  readonly kind: 'emit';
  /** Attributes of a CloudEvent. The engine adds `id`, `time` and `specversion`. */
  readonly event: Expression;
}

export interface ForTask extends TaskBase {
  readonly kind: 'for';
  readonly each: string;
  readonly at: string;
  readonly in: Expression;
  readonly while?: Expression;
  readonly tasks: readonly Task[];
}

export interface ForkTask extends TaskBase {
  readonly kind: 'fork';
  readonly branches: readonly Task[];
  /** The first branch to end gives the output; the others are aborted. */
  readonly compete: boolean;
}

export interface ListenTask extends TaskBase {
  readonly kind: 'listen';
  readonly to: Consumption;
  readonly read: 'data' | 'envelope' | 'raw';
  readonly foreach?: {
    readonly item: string;
    readonly at: string;
    readonly tasks: readonly Task[];
    readonly output: DataOutput;
    readonly export: DataOutput;
  };
}

export type Consumption =
  | { readonly kind: 'one'; readonly filter: EventFilter }
  | { readonly kind: 'all'; readonly filters: readonly EventFilter[] }
  | {
      readonly kind: 'any';
      /** Empty: every event. */
      readonly filters: readonly EventFilter[];
      /** Absent: one event. */
      readonly until?: Expression | Consumption;
    };

export interface EventFilter {
  /** True on an event (`.`) whose attributes match. */
  readonly matches: Expression;
  readonly correlate: readonly { readonly name: string; readonly from: Expression; readonly expect?: Expression }[];
}

export interface RaiseTask extends TaskBase {
  readonly kind: 'raise';
  /** Gives `{ type, status, title?, detail?, instance? }`. */
  readonly error: Expression;
}

export interface RunTask extends TaskBase {
  readonly kind: 'run';
  readonly workflow: string;
  /** `latest`, or a semantic version. */
  readonly version: string;
  readonly with?: Expression;
  /** False: the task ends at once. */
  readonly await: boolean;
}

/** Of one batch. */
export const maxItems = 20_000;

/** `call: batch`: a run of the workflow for each item, side by side. */
export interface BatchTask extends TaskBase {
  readonly kind: 'batch';
  /** Gives a list. */
  readonly items: Expression;
  readonly workflow: string;
  /** A semantic version. */
  readonly version: string;
  /** So many runs at once, at most. */
  readonly parallel: number;
  /** So many items run first and alone, and all have to complete. */
  readonly canary: number;
  /** No other item begins after so many that failed or are unknown. Absent: never. */
  readonly stopAfter?: number;
  /** What items that failed mean for the task. `count`: it completes. */
  readonly failures: 'fault' | 'count';
}

export interface SetTask extends TaskBase {
  readonly kind: 'set';
  readonly value: Expression;
}

export interface SwitchTask extends TaskBase {
  readonly kind: 'switch';
  readonly cases: readonly { readonly name: string; readonly when?: Expression; readonly then: Directive }[];
}

export interface TryTask extends TaskBase {
  readonly kind: 'try';
  readonly tasks: readonly Task[];
  readonly catch: Catch;
}

/** Of a call that may have happened. A `catch` takes it only by this type. */
export const outcomeUnknown = 'urn:orchestration-gateway:errors:outcome-unknown';

export interface Catch {
  /** Absent members match all. */
  readonly errors?: {
    readonly type?: string;
    readonly status?: number;
    readonly instance?: string;
    readonly title?: string;
    readonly detail?: string;
  };
  readonly as: string;
  readonly when?: Expression;
  readonly exceptWhen?: Expression;
  readonly retry?: Retry;
  readonly tasks?: readonly Task[];
}

export interface Retry {
  readonly when?: Expression;
  readonly exceptWhen?: Expression;
  readonly delay?: Duration;
  readonly backoff: 'constant' | 'exponential' | 'linear';
  readonly jitter?: { readonly from: Duration; readonly to: Duration };
  readonly limit: {
    /** After the first attempt. */
    readonly count?: number;
    readonly attemptDuration?: Duration;
    readonly duration?: Duration;
  };
}

export interface WaitTask extends TaskBase {
  readonly kind: 'wait';
  readonly duration: Duration;
}
