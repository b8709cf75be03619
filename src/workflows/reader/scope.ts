/** The arguments of the DSL that exist at a moment of a run, without `$`. */
const argumentsAt = {
  workflowInput: ['secrets', 'workflow', 'runtime'],
  taskInput: ['context', 'secrets', 'task', 'workflow', 'runtime'],
  task: ['context', 'input', 'secrets', 'task', 'workflow', 'runtime'],
  taskExport: ['context', 'input', 'output', 'secrets', 'task', 'workflow', 'runtime'],
  workflowOutput: ['context', 'secrets', 'workflow', 'runtime'],
} as const;

export type Moment = keyof typeof argumentsAt;

/** Names that a document cannot give to a variable. */
export const reservedNames: readonly string[] = [...argumentsAt.taskExport, 'authorization', 'ENV'];

/** The variables that an expression may use. */
export interface Scope {
  readonly moment: Moment;
  /** Of the tasks around, such as the item of a `for`. */
  readonly own: readonly string[];
}

export const workflowScope: Scope = { moment: 'workflowInput', own: [] };

export function at(scope: Scope, moment: Moment): Scope {
  return { ...scope, moment };
}

export function within(scope: Scope, names: readonly string[]): Scope {
  return { ...scope, own: [...new Set([...scope.own, ...names])] };
}

export function variablesOf({ moment, own }: Scope): readonly string[] {
  return [...argumentsAt[moment], ...own];
}
