/**
 * A workflow: a CNCF Serverless Workflow document (DSL 1.0), read and resolved. The reader has expanded every `use` reference, compiled
 * every template into one jq expression, and resolved every `then` to a position. The definition itself is kept as JSON text, with the
 * digits of its numbers.
 */
export interface Workflow {
  /** `namespace.name`. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** A semantic version. */
  readonly version: string;
  readonly title?: string;
  readonly summary?: string;
  /** The whole document as JSON text: `$workflow.definition`. */
  readonly definition: string;
  readonly input: DataInput;
  readonly output: DataOutput;
  /** Names of the secrets that `$secrets` may hold (`use.secrets`). */
  readonly secrets: readonly string[];
  readonly timeout?: Duration;
  readonly tasks: readonly Task[];
}

/**
 * A jq expression. It gives exactly one result; none or several are an error of the DSL type `expression`. `jq` is complete in itself, so
 * it may be put into parentheses. It refers to its data as `.`, and to the DSL's arguments and to variables of its scope as `$name`.
 */
export interface Expression {
  readonly jq: string;
  /** Set where the expression is a constant: its value as JSON text. An engine need not evaluate it. */
  readonly constant?: string;
}

/** A JSON Schema, inline or fetched once for each run. `pointer` names its place in the document, for errors. */
export interface DataSchema {
  readonly pointer: string;
  /** JSON text. */
  readonly document?: string;
  readonly resource?: ExternalResource;
}

/** A document that the way of restCall fetches, under its outbound policy. */
export interface ExternalResource {
  /** Evaluates to `{ uri, authentication? }`; `authentication` is `{ basic: { username, password } }` or `{ bearer: { token } }`. */
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

/** Milliseconds, or an expression that gives an ISO 8601 duration. `iso` may have years and months, which count from the moment of use. */
export type Duration = { readonly iso: string } | { readonly expression: Expression };

/** What follows a task: the next one, the end of its list or of the run, or the task of its list with this index. */
export type Directive = 'continue' | 'exit' | 'end' | { readonly index: number };

interface TaskBase {
  readonly name: string;
  /** JSON pointer into the document, such as `/do/0/deploy/try/1/check`. */
  readonly reference: string;
  /** The task's own definition as JSON text: `$task.definition`. */
  readonly definition: string;
  readonly if?: Expression;
  readonly input: DataInput;
  readonly output: DataOutput;
  readonly export: DataOutput;
  readonly timeout?: Duration;
  readonly then: Directive;
}

export type Task =
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

/** The functions of the gateway. The first two are the DSL's own; all but `approval` take the one path of a call. */
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
  /** Evaluates to the arguments, as the document wrote them; `use` of an authentication is replaced by what it names. */
  readonly with: Expression;
  readonly literals: CallLiterals;
  /** The OpenAPI document of `call: openapi`. */
  readonly document?: ExternalResource;
}

/** The arguments by which rights to a call are judged, as far as the document has them as literal text. */
export interface CallLiterals {
  readonly adapter?: string;
  /** In upper case. */
  readonly method?: string;
  /** The path at an orchestrator, or the address. */
  readonly path?: string;
  /** The document says that an action changes nothing. */
  readonly repeatable?: true;
}

/** A call of a function that the document defines (`use.functions`): the body runs with the arguments as its input. */
export interface FunctionTask extends TaskBase {
  readonly kind: 'function';
  /** Absent: the input of the call is the input of the body. */
  readonly with?: Expression;
  readonly body: Task;
}

export interface DoTask extends TaskBase {
  readonly kind: 'do';
  readonly tasks: readonly Task[];
}

export interface EmitTask extends TaskBase {
  readonly kind: 'emit';
  /** Evaluates to the attributes of a CloudEvent; `id`, `time` and `specversion` are added where they are absent. */
  readonly event: Expression;
}

export interface ForTask extends TaskBase {
  readonly kind: 'for';
  /** Names of variables, without `$`. */
  readonly each: string;
  readonly at: string;
  readonly in: Expression;
  readonly while?: Expression;
  readonly tasks: readonly Task[];
}

export interface ForkTask extends TaskBase {
  readonly kind: 'fork';
  readonly branches: readonly Task[];
  /** The first branch that ends gives the output; the others are aborted. */
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

/** Which events a `listen` consumes. */
export type Consumption =
  | { readonly kind: 'one'; readonly filter: EventFilter }
  | { readonly kind: 'all'; readonly filters: readonly EventFilter[] }
  | {
      readonly kind: 'any';
      /** Empty: every event. */
      readonly filters: readonly EventFilter[];
      /** Absent: one event is enough. */
      readonly until?: Expression | Consumption;
    };

export interface EventFilter {
  /**
   * One expression for each attribute, evaluated with the event as `.`: true where the attribute matches. The reader has compiled literals,
   * regular expressions and runtime expressions into it.
   */
  readonly matches: Expression;
  readonly correlate: readonly { readonly name: string; readonly from: Expression; readonly expect?: Expression }[];
}

export interface RaiseTask extends TaskBase {
  readonly kind: 'raise';
  /** Evaluates to the error: `{ type, status, title?, detail?, instance? }`. */
  readonly error: Expression;
}

/** `run: workflow`. */
export interface RunTask extends TaskBase {
  readonly kind: 'run';
  /** `namespace.name`. */
  readonly workflow: string;
  /** `latest`, or a semantic version. */
  readonly version: string;
  readonly with?: Expression;
  /** False: the run of the other workflow begins, and this task ends at once. */
  readonly await: boolean;
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

/** The type of the error of a call that may have happened. A `catch` takes it only by this type. */
export const outcomeUnknown = 'urn:orchestration-gateway:errors:outcome-unknown';

export interface Catch {
  /** Absent members match every error. */
  readonly errors?: {
    readonly type?: string;
    readonly status?: number;
    readonly instance?: string;
    readonly title?: string;
    readonly detail?: string;
  };
  /** Name of the variable that holds the error. */
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
    /** Retries after the first attempt, at most. */
    readonly count?: number;
    /** Of each attempt. */
    readonly attemptDuration?: Duration;
    /** Of all attempts. */
    readonly duration?: Duration;
  };
}

export interface WaitTask extends TaskBase {
  readonly kind: 'wait';
  readonly duration: Duration;
}
