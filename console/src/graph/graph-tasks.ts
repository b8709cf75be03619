/** Where a task may lead. An index is a place in the list of the task; a text is a name that the list does not have. */
type Target = number | 'next' | 'exit' | 'end' | { readonly unknown: string };

export interface Way {
  /** Such as the case of a switch. */
  readonly label: string;
  readonly to: Target;
}

/** Tasks inside a task. */
export interface Part {
  readonly kind: 'body' | 'branches' | 'catch';
  /** What it is for, such as the errors that a `catch` takes. */
  readonly words: readonly string[];
  readonly retries: boolean;
  readonly tasks: readonly GraphTask[];
}

/** A task of a document, as the graph shows it. */
export interface GraphTask {
  readonly name: string;
  readonly kind: string;
  /** RFC 6901, as a run names its tasks. */
  readonly reference: string;
  /** What it does, the most important first. */
  readonly words: readonly string[];
  /** Where it leads, if that is not the next task alone. */
  readonly ways: readonly Way[];
  /** Whether the next task may follow it. */
  readonly goesOn: boolean;
  readonly parts: readonly Part[];
}

export interface GraphContent {
  readonly tasks: readonly GraphTask[];
  /** Of `use.functions`. */
  readonly functions: readonly GraphTask[];
  /** The document has more tasks than the graph shows. */
  readonly isCut: boolean;
}

/** What a run did at a task. */
export interface GraphState {
  /** A word of `parts/status.tsx`, such as `running`. */
  readonly status: string;
  /** More of it, such as `3 of 12`. */
  readonly label?: string;
}

type Value = Readonly<Record<string, unknown>>;

/** Tasks that a graph shows at most. */
export const shownTasks = 1_500;

/** What a document, or a draft of one, says (Serverless Workflow DSL 1.0). Leaves out what is no task. */
export function graphContent(document: unknown): GraphContent {
  const count = { left: shownTasks };
  const root = objectOf(document);
  const tasks = tasksOf(root['do'], '/do', count);
  const functions = Object.entries(objectOf(objectOf(root['use'])['functions'])).flatMap(([name, task]) =>
    isObject(task) ? taskOf({ name, task, reference: `/use/functions/${escaped(name)}`, names: [], count }) : [],
  );
  return { tasks, functions, isCut: count.left < 0 };
}

interface Count {
  left: number;
}

function tasksOf(list: unknown, pointer: string, count: Count): readonly GraphTask[] {
  const entries = (Array.isArray(list) ? list : []).flatMap((entry: unknown, index) => {
    const [[name, task] = []] = Object.entries(objectOf(entry));
    return name === undefined ? [] : [{ name, task: objectOf(task), reference: `${pointer}/${index}/${escaped(name)}` }];
  });
  const names = entries.map(({ name }) => name);
  return entries.flatMap((entry) => taskOf({ ...entry, names, count }));
}

interface Written {
  readonly name: string;
  readonly task: Value;
  readonly reference: string;
  /** Of the tasks of its list. */
  readonly names: readonly string[];
  readonly count: Count;
}

const kinds = ['call', 'for', 'fork', 'switch', 'try', 'raise', 'wait', 'run', 'set', 'emit', 'listen', 'do'] as const;

function taskOf({ name, task, reference, names, count }: Written): readonly GraphTask[] {
  count.left -= 1;
  if (count.left < 0) return [];
  const kind = kinds.find((each) => task[each] !== undefined) ?? 'task';
  const then = targetOf(task['then'], names);
  const cases = kind === 'switch' ? casesOf(task['switch'], names) : [];
  const hasDefault = cases.some(({ isDefault }) => isDefault);
  // An error goes its own way.
  const own = hasDefault || kind === 'raise' ? [] : [{ label: '', to: then }];
  const leads = [...cases.map(({ way }) => way), ...own];
  const isSkipped = task['if'] !== undefined;
  return [
    {
      name,
      kind,
      reference,
      words: [...(wordsOf[kind]?.(task) ?? []), ...commonWords(task)].filter((text) => text !== ''),
      ways: leads.filter(({ label, to }) => label !== '' || to !== 'next'),
      goesOn: isSkipped || leads.some(({ to }) => to === 'next'),
      parts: partsOf(kind, task, reference, count).filter((part) => part.kind === 'catch' || part.tasks.length > 0),
    },
  ];
}

function targetOf(then: unknown, names: readonly string[]): Target {
  if (typeof then !== 'string' || then === 'continue') return 'next';
  if (then === 'exit' || then === 'end') return then;
  const index = names.indexOf(then);
  return index < 0 ? { unknown: then } : index;
}

function casesOf(list: unknown, names: readonly string[]): readonly { readonly way: Way; readonly isDefault: boolean }[] {
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown) =>
    Object.entries(objectOf(entry)).map(([name, given]) => {
      const { when, then } = objectOf(given);
      const isDefault = when === undefined;
      const label = isDefault ? name : `${name}: ${expressionText(when)}`;
      return { way: { label, to: targetOf(then, names) }, isDefault };
    }),
  );
}

function partsOf(kind: string, task: Value, reference: string, count: Count): readonly Part[] {
  const plain = { words: [], retries: false };
  if (kind === 'fork') {
    const branches = objectOf(task['fork'])['branches'];
    return [{ ...plain, kind: 'branches', tasks: tasksOf(branches, `${reference}/fork/branches`, count) }];
  }
  if (kind === 'try') {
    const clause = objectOf(task['catch']);
    return [
      { ...plain, kind: 'body', tasks: tasksOf(task['try'], `${reference}/try`, count) },
      {
        kind: 'catch',
        words: catchWords(clause),
        retries: clause['retry'] !== undefined,
        tasks: tasksOf(clause['do'], `${reference}/catch/do`, count),
      },
    ];
  }
  if (kind === 'listen') {
    const each = objectOf(task['foreach'])['do'];
    return [{ ...plain, kind: 'body', words: ['for each event'], tasks: tasksOf(each, `${reference}/foreach/do`, count) }];
  }
  return [{ ...plain, kind: 'body', tasks: tasksOf(task['do'], `${reference}/do`, count) }];
}

const wordsOf: Readonly<Record<string, (task: Value) => readonly string[]>> = {
  call: (task) => {
    const given = objectOf(task['with']);
    const head = [task['call'], given['adapter']].filter((part) => typeof part === 'string').join(' · ');
    return [head, targetText(given)];
  },
  for: (task) => {
    const { each = 'item', in: list } = objectOf(task['for']);
    const during = task['while'] === undefined ? [] : [`while ${expressionText(task['while'])}`];
    return [`each ${short(each)} in ${expressionText(list)}`, ...during];
  },
  fork: (task) => [objectOf(task['fork'])['compete'] === true ? 'the first branch that ends wins' : 'all branches at once'],
  wait: (task) => [durationText(task['wait'])],
  raise: (task) => {
    const { error } = objectOf(task['raise']);
    return [typeof error === 'string' ? error : errorText(objectOf(error))];
  },
  run: (task) => [nameText(objectOf(task['run'])['workflow'])],
  set: (task) => [isObject(task['set']) ? Object.keys(task['set']).join(', ') : short(task['set'])],
  emit: (task) => [short(objectOf(objectOf(objectOf(task['emit'])['event'])['with'])['type'] ?? '')],
  listen: (task) => {
    const to = objectOf(objectOf(task['listen'])['to']);
    const [way = ''] = Object.keys(to);
    const filters = [to[way]].flat().map((filter) => objectOf(objectOf(filter)['with'])['type']);
    return [`${way} of ${filters.map((type) => short(type ?? 'any event')).join(', ') || 'all events'}`];
  },
};

/** What a call is about: its address, its message, or what a batch runs. */
function targetText(given: Value): string {
  const { method, path } = objectOf(given['params']);
  const endpoint = given['endpoint'];
  const target = path ?? given['uri'] ?? objectOf(endpoint)['uri'] ?? endpoint ?? given['message'] ?? given['operationId'];
  const verb = method ?? given['verb'] ?? given['method'];
  if (isObject(given['workflow'])) return `${nameText(given['workflow'])} for each of ${expressionText(given['items'])}`;
  return [verb, target]
    .filter((part) => part !== undefined)
    .map((part) => expressionText(part).replace(/^"(.*)"$/u, '$1'))
    .join(' ');
}

/** A long address loses its begin in a box: its end says what the call does. */
export function boxText(text: string): string {
  const [, verb = '', address = ''] = /^([A-Z]+ )?((?:https?:|restconf|\/|[\w.-]+\/).*)$/u.exec(text) ?? [];
  const room = addressCharacters - verb.length;
  return address.length > room ? `${verb}…${address.slice(1 - room)}` : text;
}

const addressCharacters = 32;

function commonWords(task: Value): readonly string[] {
  const { after } = objectOf(task['timeout']);
  const limit = typeof task['timeout'] === 'string' ? task['timeout'] : after === undefined ? undefined : durationText(after);
  return [task['if'] === undefined ? '' : `only if ${expressionText(task['if'])}`, limit === undefined ? '' : `at most ${limit}`];
}

function catchWords(clause: Value): readonly string[] {
  const filter = objectOf(objectOf(clause['errors'])['with']);
  const { when, retry } = clause;
  return [
    Object.keys(filter).length === 0 ? 'every error' : errorText(filter),
    when === undefined ? '' : `when ${expressionText(when)}`,
    retry === undefined ? '' : retryText(retry),
  ].filter((text) => text !== '');
}

function retryText(retry: unknown): string {
  if (!isObject(retry)) return `retry ${short(retry)}`;
  const count = objectOf(objectOf(retry['limit'])['attempt'])['count'];
  const [backoff] = Object.keys(objectOf(retry['backoff']));
  const times = count === undefined ? '' : ` up to ${short(count)} times`;
  const delay = retry['delay'] === undefined ? '' : `, after ${durationText(retry['delay'])}`;
  return `retry${times}${delay}${backoff === undefined || backoff === 'constant' ? '' : `, ${backoff}`}`;
}

function errorText({ type, status }: Value): string {
  const kind = typeof type === 'string' ? (/[^/:#]+$/u.exec(type)?.[0] ?? type) : '';
  return [kind, status]
    .filter((part) => part !== undefined && part !== '')
    .map(short)
    .join(' ');
}

function nameText(workflow: unknown): string {
  const { namespace, name, version } = objectOf(workflow);
  return `${short(namespace ?? '')}.${short(name ?? '')} ${short(version ?? '')}`;
}

function durationText(duration: unknown): string {
  if (!isObject(duration)) return short(duration);
  return Object.entries(duration)
    .map(([unit, count]) => `${short(count)} ${count === 1 ? unit.replace(/s$/u, '') : unit}`)
    .join(' ');
}

/** Without the `${ }` around it. */
function expressionText(value: unknown): string {
  return short(typeof value === 'string' ? value.replace(/^\s*\$\{\s*(.*?)\s*\}\s*$/su, '$1') : value);
}

const shownCharacters = 200;

function short(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replace(/\s+/gu, ' ');
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters - 1)}…` : text;
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isObject(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Value {
  return isObject(value) ? value : {};
}
