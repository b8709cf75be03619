import { type ObjectMembers, readText } from '#yaml/document-members.ts';
import type { DocumentReading } from '#yaml/document-reading.ts';
import type { Located, TextPosition } from '#yaml/located.ts';
import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import type { Task } from '../workflow.ts';

export interface Context {
  readonly reading: DocumentReading;
  readonly definitions: Definitions;
  /** All that the document has. */
  readonly expressions: WrittenExpression[];
  /** Adapter instances. Absent: unknown. */
  readonly adapters?: readonly string[];
  /** Whether a text without `${ }` is an expression. Absent in strict mode. */
  readonly loose?: (text: string, scope: Scope) => boolean;
  readonly tasks: (node: Located | undefined, scope: Scope) => readonly Task[];
  readonly branches: (node: Located | undefined, scope: Scope) => readonly Task[];
  /** Undefined after a problem was reported. */
  readonly body: (name: string, node: Located) => Task | 'recursive' | undefined;
}

/** Referred to by name. */
const parts = ['authentications', 'errors', 'functions', 'retries', 'timeouts'] as const;

type Part = (typeof parts)[number];

export class Definitions {
  readonly secrets: readonly string[];
  readonly #parts: ReadonlyMap<Part, ReadonlyMap<string, Located>>;
  readonly #used = new Set<Located>();

  constructor(use: Located | undefined) {
    const members = new Map(use?.kind === 'object' ? use.members.map(({ name, value }) => [name, value]) : []);
    this.#parts = new Map(
      parts.map((part) => {
        const node = members.get(part);
        return [part, new Map(node?.kind === 'object' ? node.members.map(({ name, value }) => [name, value]) : [])];
      }),
    );
    const secrets = members.get('secrets');
    this.secrets = secrets?.kind === 'array' ? secrets.items.flatMap((item) => (item.kind === 'string' ? [item.value] : [])) : [];
  }

  names(part: Part): readonly string[] {
    return [...(this.#parts.get(part)?.keys() ?? [])];
  }

  /** Undefined after a report. */
  find(reading: DocumentReading, part: Part, name: string, place: TextPosition): Located | undefined {
    const found = this.#parts.get(part)?.get(name);
    if (found === undefined)
      reading.problem(place, `${quote(name)} is not defined in use.${part}${suggestion(name, this.names(part))}`);
    else this.#used.add(found);
    return found;
  }

  /** Read too, so that their problems show. */
  unused(part: Part): readonly Located[] {
    return [...(this.#parts.get(part)?.values() ?? [])].filter((node) => !this.#used.has(node));
  }
}

export function suggestion(name: string, known: readonly string[]): string {
  const nearest = didYouMean(name, known);
  if (nearest !== '') return nearest;
  return known.length === 0 || known.length > 20 ? '' : `; known are ${joinWords(known)}`;
}

/** Arguments of the DSL by moment, without `$`. */
const argumentsAt = {
  workflowInput: ['secrets', 'workflow', 'runtime'],
  taskInput: ['context', 'secrets', 'task', 'workflow', 'runtime'],
  task: ['context', 'input', 'secrets', 'task', 'workflow', 'runtime'],
  taskExport: ['context', 'input', 'output', 'secrets', 'task', 'workflow', 'runtime'],
  workflowOutput: ['context', 'secrets', 'workflow', 'runtime'],
} as const;

export type Moment = keyof typeof argumentsAt;

/** The variables that tasks have if the author chooses no name, with the tasks in which they are. */
export const ownVariables = { item: ['for', 'listen'], index: ['for', 'listen'], error: ['try'] } as const;

type OwnVariable = keyof typeof ownVariables;

/** Each variable, without `$`, with the moments or the tasks that have it. */
export function variablePlaces(): readonly { readonly name: string; readonly places: readonly string[] }[] {
  const moments = Object.entries<readonly string[]>(argumentsAt);
  const names = new Set(moments.flatMap(([, known]) => known));
  const placesOf = (name: string) => moments.flatMap(([moment, known]) => (known.includes(name) ? [moment] : []));
  return [
    ...[...names].map((name) => ({ name, places: placesOf(name) })),
    ...Object.entries(ownVariables).map(([name, places]) => ({ name, places })),
  ];
}

/** Not allowed for variables. */
export const reservedNames: readonly string[] = [...argumentsAt.taskExport, 'authorization', 'ENV'];

export interface Scope {
  readonly moment: Moment;
  /** From the tasks around, such as the item of a `for`. */
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

export interface WrittenExpression {
  readonly place: TextPosition;
  readonly jq: string;
  readonly variables: readonly string[];
}

/** A label of DNS, in any case. */
export function isName(text: string): boolean {
  return /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/iu.test(text);
}

export function variableName(reading: DocumentReading, members: ObjectMembers, member: string, standard: OwnVariable): string {
  const node = members.get(member);
  const name = node === undefined ? standard : readText(reading, node, 'the name of a variable, without $');
  if (node === undefined || name === undefined) return standard;
  if (!/^(?!__)[a-z_]\w*$/iu.test(name) || name.length > 255)
    reading.problem(
      node,
      `${quote(name)} is no name of a variable; write letters, digits and _, without $ and not two _ at its beginning`,
    );
  else if (reservedNames.includes(name)) reading.problem(node, `$${name} has a meaning of its own; choose another name`);
  else return name;
  return standard;
}

export function variablePair(
  reading: DocumentReading,
  members: ObjectMembers,
  [first, second]: readonly [string, string],
): readonly [string, string] {
  const names = [variableName(reading, members, first, 'item'), variableName(reading, members, second, 'index')] as const;
  const node = members.get(second) ?? members.get(first);
  if (names[0] === names[1] && node !== undefined)
    reading.problem(node, `"${first}" and "${second}" have the same name $${names[0]}; choose another one`);
  return names;
}
