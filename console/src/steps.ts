/** A task of a workflow, as it is drawn. */
export interface Step {
  readonly name: string;
  readonly kind: string;
  readonly words: string;
  /** Tasks inside it, by what they are for: the branches of a fork, the `catch` of a try. */
  readonly parts: readonly (readonly [title: string, steps: readonly Step[]])[];
  /** The task that follows, where it is not the next one. */
  readonly next: string | undefined;
}

type Value = Readonly<Record<string, unknown>>;

/** The tasks of a document, or of a draft of one. */
export function stepsIn(document: unknown): readonly Step[] {
  return stepsOf(objectOf(document)['do']);
}

/** The tasks of a `do` of a document (Serverless Workflow DSL 1.0). What is no task is left out. */
function stepsOf(list: unknown): readonly Step[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => Object.entries(objectOf(entry)).map(([name, task]) => stepOf(name, objectOf(task))));
}

const kinds = ['call', 'for', 'fork', 'switch', 'try', 'raise', 'wait', 'run', 'set', 'emit', 'listen', 'do'] as const;

function stepOf(name: string, task: Value): Step {
  const kind = kinds.find((each) => task[each] !== undefined) ?? 'task';
  const condition = task['if'] === undefined ? '' : `if ${short(task['if'])} `;
  return {
    name,
    kind,
    words: condition + wordsOf(kind, task),
    parts: partsOf(kind, task).filter(([, steps]) => steps.length > 0),
    next: typeof task['then'] === 'string' && task['then'] !== 'continue' ? task['then'] : undefined,
  };
}

const words: Readonly<Record<string, (task: Value) => string>> = {
  call: (task) =>
    [task['call'], objectOf(task['with'])['adapter'], pathOf(task)].filter((part) => typeof part === 'string').join(' '),
  for: (task) => `each ${short(objectOf(task['for'])['each'] ?? 'item')} in ${short(objectOf(task['for'])['in'])}`,
  fork: (task) => (objectOf(task['fork'])['compete'] === true ? 'the first branch that ends wins' : 'all branches'),
  switch: (task) =>
    (Array.isArray(task['switch']) ? task['switch'] : [])
      .flatMap((entry: unknown) => Object.entries(objectOf(entry)))
      .map(([name, given]) => `${name}: ${short(objectOf(given)['when'] ?? 'otherwise')} → ${short(objectOf(given)['then'])}`)
      .join('; '),
  wait: (task) => short(task['wait']),
  raise: (task) => short(objectOf(objectOf(task['raise'])['error'])['type'] ?? objectOf(task['raise'])['error']),
  run: (task) => short(objectOf(task['run'])['workflow']),
};

function wordsOf(kind: string, task: Value): string {
  return words[kind]?.(task) ?? '';
}

function pathOf(task: Value): unknown {
  const given = objectOf(task['with']);
  return objectOf(given['params'])['path'] ?? given['uri'] ?? given['message'];
}

function partsOf(kind: string, task: Value): Step['parts'] {
  if (kind === 'fork') {
    const branches = objectOf(task['fork'])['branches'];
    return [['', stepsOf(branches)]];
  }
  if (kind === 'try') {
    return [
      ['', stepsOf(task['try'])],
      ['catch', stepsOf(objectOf(task['catch'])['do'])],
    ];
  }
  return [['', stepsOf(task['do'])]];
}

function objectOf(value: unknown): Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Value) : {};
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
