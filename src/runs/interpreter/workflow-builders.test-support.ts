import type {
  BatchTask,
  CallTask,
  Consumption,
  DataInput,
  DataOutput,
  Directive,
  DoTask,
  Duration,
  EmitTask,
  Expression,
  ForkTask,
  ForTask,
  FunctionTask,
  ListenTask,
  RaiseTask,
  RunTask,
  SetTask,
  SwitchTask,
  Task,
  TryTask,
  WaitTask,
  Workflow,
} from '#workflows/workflow.ts';

/** A task that does not know its place yet. */
export type Draft = (list: string, index: number) => Task;

/** What every task may have. */
export interface Common {
  readonly if?: Expression;
  readonly input?: DataInput;
  readonly output?: DataOutput;
  readonly export?: DataOutput;
  readonly timeout?: Duration;
  readonly next?: Directive;
}

export function jq(text: string): Expression {
  return { jq: text };
}

export function constant(value: unknown): Expression {
  const text = JSON.stringify(value);
  return { jq: text, constant: text };
}

type Part<T extends Task> = Omit<T, 'name' | 'reference' | 'definition' | 'then' | keyof Common>;

function draft<T extends Task>(
  name: string,
  { next = 'continue', ...common }: Common,
  make: (reference: string) => Part<T>,
): Draft {
  return (list, index) => {
    const reference = `${list}/${index}/${name}`;
    const part = make(reference);
    const definition = JSON.stringify({ kind: part.kind });
    // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
    return { name, reference, definition, input: {}, output: {}, export: {}, ...common, ...part, then: next } as unknown as T;
  };
}

function tasksIn(list: string, drafts: readonly Draft[]): readonly Task[] {
  return drafts.map((make, index) => make(list, index));
}

export function set(name: string, value: Expression, common: Common = {}): Draft {
  return draft<SetTask>(name, common, () => ({ kind: 'set', value }));
}

export function perform(name: string, drafts: readonly Draft[], common: Common = {}): Draft {
  return draft<DoTask>(name, common, (reference) => ({ kind: 'do', tasks: tasksIn(`${reference}/do`, drafts) }));
}

export function call(name: string, common: Common & Partial<Pick<CallTask, 'function' | 'with'>> = {}): Draft {
  const { function: callee = 'orchestratorQuery', with: args = constant({}), ...rest } = common;
  return draft<CallTask>(name, rest, () => ({ kind: 'call', function: callee, with: args, literals: {} }));
}

export function loop(
  name: string,
  over: Expression,
  drafts: readonly Draft[],
  common: Common & Partial<Pick<ForTask, 'each' | 'at' | 'while'>> = {},
): Draft {
  const { each = 'item', at = 'index', while: condition, ...rest } = common;
  const limit = condition === undefined ? {} : { while: condition };
  return draft<ForTask>(name, rest, (reference) => {
    return { kind: 'for', each, at, in: over, tasks: tasksIn(`${reference}/do`, drafts), ...limit };
  });
}

export function fork(name: string, drafts: readonly Draft[], common: Common & { readonly compete?: boolean } = {}): Draft {
  const { compete = false, ...rest } = common;
  return draft<ForkTask>(name, rest, (reference) => {
    return { kind: 'fork', compete, branches: tasksIn(`${reference}/fork/branches`, drafts) };
  });
}

type CatchDraft = Omit<Partial<TryTask['catch']>, 'tasks'> & { readonly tasks?: readonly Draft[] };

export function attempt(name: string, drafts: readonly Draft[], { tasks, ...rest }: CatchDraft = {}, common: Common = {}): Draft {
  return draft<TryTask>(name, common, (reference) => {
    const handler = tasks === undefined ? {} : { tasks: tasksIn(`${reference}/catch/do`, tasks) };
    return { kind: 'try', tasks: tasksIn(`${reference}/try`, drafts), catch: { as: 'error', ...rest, ...handler } };
  });
}

export function raise(name: string, error: Expression, common: Common = {}): Draft {
  return draft<RaiseTask>(name, common, () => ({ kind: 'raise', error }));
}

export function wait(name: string, duration: Duration, common: Common = {}): Draft {
  return draft<WaitTask>(name, common, () => ({ kind: 'wait', duration }));
}

export function emit(name: string, event: Expression, common: Common = {}): Draft {
  return draft<EmitTask>(name, common, () => ({ kind: 'emit', event }));
}

export function choose(name: string, cases: SwitchTask['cases'], common: Common = {}): Draft {
  return draft<SwitchTask>(name, common, () => ({ kind: 'switch', cases }));
}

export function when(name: string, condition: Expression | undefined, next: Directive): SwitchTask['cases'][number] {
  const limit = condition === undefined ? {} : { when: condition };
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a case is no promise
  return { name, ...limit, then: next };
}

type IteratorDraft = Omit<NonNullable<ListenTask['foreach']>, 'tasks'> & { readonly tasks: readonly Draft[] };

export function listen(
  name: string,
  to: Consumption,
  common: Common & { readonly read?: ListenTask['read']; readonly foreach?: Partial<IteratorDraft> } = {},
): Draft {
  const { read = 'data', foreach, ...rest } = common;
  return draft<ListenTask>(name, rest, (reference) => {
    if (foreach === undefined) return { kind: 'listen', to, read };
    const { tasks = [], ...others } = foreach;
    const iterator = { item: 'item', at: 'index', output: {}, export: {}, ...others };
    return { kind: 'listen', to, read, foreach: { ...iterator, tasks: tasksIn(`${reference}/foreach/do`, tasks) } };
  });
}

export function batch(name: string, items: Expression, common: Common = {}): Draft {
  const rules = { parallel: 10, canary: 0, failures: 'fault' } as const;
  return draft<BatchTask>(name, common, () => ({ kind: 'batch', items, workflow: 'test.item', version: '1.0.0', ...rules }));
}

export function child(name: string, common: Common & Partial<Pick<RunTask, 'with' | 'await'>> = {}): Draft {
  const { with: args, await: awaited = true, ...rest } = common;
  const given = args === undefined ? {} : { with: args };
  return draft<RunTask>(name, rest, () => ({ kind: 'run', workflow: 'net.other', version: 'latest', await: awaited, ...given }));
}

export function callFunction(name: string, body: Draft, common: Common & { readonly with?: Expression } = {}): Draft {
  const { with: args, ...rest } = common;
  const given = args === undefined ? {} : { with: args };
  return draft<FunctionTask>(name, rest, () => ({ kind: 'function', body: body('/use/functions', 0), ...given }));
}

export function workflowOf(drafts: readonly Draft[], more: Partial<Workflow> = {}): Workflow {
  return {
    id: 'net.test',
    namespace: 'net',
    name: 'test',
    version: '1.0.0',
    definition: '{"document":{"name":"test"}}',
    input: {},
    output: {},
    secrets: [],
    tasks: tasksIn('/do', drafts),
    ...more,
  };
}
