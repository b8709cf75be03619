import type { WorkflowLanguage } from '#client/gateway.ts';
import type { DocumentPlace, Level } from './document-frames.ts';
import { placeIn } from './document-place.ts';

/** What the editor offers at a place. */
export interface Completion {
  /** The first character that it replaces. */
  readonly from: number;
  /** A quote is in front of it: a quote behind the cursor is replaced too. */
  readonly isQuoted: boolean;
  readonly options: readonly CompletionOption[];
}

interface CompletionOption {
  readonly label: string;
  /** The text that takes the place. */
  readonly apply: string;
  readonly detail?: string;
}

export interface Known {
  readonly language: WorkflowLanguage;
  readonly adapters: readonly { readonly name: string; readonly kind: string }[];
  /** The last document that could be read, as JSON. */
  readonly document: unknown;
}

interface Word {
  readonly label: string;
  readonly detail?: string;
}

/** Undefined where there is nothing to offer. */
export function completionsAt(text: string, cursor: number, known: Known): Completion | undefined {
  const place = placeIn(text, cursor);
  if (place === undefined) return undefined;
  const typed = text.slice(place.from, cursor);
  const variable = /\$\w*$/u.exec(typed)?.[0];
  if (place.kind === 'value' && variable !== undefined) {
    const options = variablesAt(place, known).map((label) => ({ label, apply: label }));
    return { from: cursor - variable.length, isQuoted: false, options };
  }
  const isQuoted = typed.startsWith('"');
  const isJson = isQuoted || /^\s*[{[]/u.test(text);
  const offered =
    place.kind === 'key'
      ? keysAt(place, known.language).map(({ label, detail }) => option(label, isJson ? `"${label}": ` : `${label}: `, detail))
      : valuesAt(place, known).map(({ label, detail }) => option(label, quoted(label, isJson), detail));
  if (offered.length === 0) return undefined;
  if (!isQuoted) return { from: place.from, isQuoted, options: offered };
  return { from: place.from + 1, isQuoted, options: offered.map((each) => ({ ...each, apply: each.apply.slice(1) })) };
}

function option(label: string, apply: string, detail: string | undefined): CompletionOption {
  return { label, apply, ...(detail === undefined ? {} : { detail }) };
}

/** A plain text of YAML must not look like something else. */
function quoted(text: string, isJson: boolean): string {
  const isPlain = /^[\w./]/u.test(text) && !/[:#](?:\s|$)|[{}[\],]|\s$/u.test(text);
  return isJson || !isPlain ? JSON.stringify(text) : text;
}

/** The task around a place. */
interface TaskAround {
  /** How many levels lead to it. */
  readonly depth: number;
  /** Its members before the place. */
  readonly members: ReadonlyMap<string, string>;
  /** From the task to the place. */
  readonly inside: readonly string[];
}

const lists = ['do', 'try', 'branches'];

function taskAround({ levels, members, kind }: DocumentPlace): TaskAround | undefined {
  const depth = levels.findLastIndex(({ name }, at) => isTask(levels, at) && name !== '');
  if (depth < 0) return undefined;
  const inside = levels.slice(depth + 1);
  const own = inside[0]?.members ?? (kind === 'key' ? members : new Map<string, string>());
  return { depth, members: own, inside: namesOf(inside) };
}

/** Whether the member of that level is the name of a task. */
function isTask(levels: readonly Level[], at: number): boolean {
  const [before, around] = [levels[at - 1]?.name, levels[at - 2]?.name];
  if (typeof before === 'number') return typeof around === 'string' && lists.includes(around);
  return before === 'functions' && around === 'use' && at === 2;
}

/** Entries of lists add nothing to the paths of the language. */
function namesOf(levels: readonly Level[]): readonly string[] {
  return levels.flatMap(({ name }) => (typeof name === 'number' ? [] : [name]));
}

function kindOf(
  members: ReadonlyMap<string, string>,
  { tasks }: WorkflowLanguage,
): WorkflowLanguage['tasks'][number] | undefined {
  return tasks.find(({ name }) => members.has(name));
}

function keysAt(place: DocumentPlace, language: WorkflowLanguage): readonly Word[] {
  const { levels, members } = place;
  const last = levels.at(-1)?.name;
  const list = levels.at(-2)?.name;
  // The name of a task is its author's.
  if (typeof last === 'number' && typeof list === 'string' && lists.includes(list)) return [];
  const task = taskAround(place);
  const names = task === undefined ? childrenOf(language.document, namesOf(levels)) : keysInTask(task, language);
  return names.flatMap((label) => {
    if (members.has(label) || label === '*') return [];
    const isKind = task?.inside.length === 0 && language.tasks.some(({ name }) => name === label);
    return [{ label, ...(isKind ? { detail: 'task' } : {}) }];
  });
}

function keysInTask({ members, inside }: TaskAround, language: WorkflowLanguage): readonly string[] {
  const kind = kindOf(members, language);
  if (kind === undefined) {
    const common = language.tasks.map((task) => childrenOf(task.members, []));
    const [first = []] = common;
    const shared = first.filter((name) => common.every((names) => names.includes(name)));
    return inside.length === 0
      ? [...language.tasks.map(({ name }) => name), ...shared]
      : childrenOf(language.tasks[0]?.members ?? [], inside);
  }
  if (kind.name !== 'call' || inside[0] !== 'with') return childrenOf(kind.members, inside);
  const called = language.functions.find(({ name }) => name === members.get('call'));
  return childrenOf(called?.with ?? [], inside.slice(1));
}

/** The members below a way, from paths such as `catch.retry.delay`. */
function childrenOf(paths: readonly string[], way: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    const names = path.split('.');
    const fits = names.length === way.length + 1 && way.every((name, at) => names[at] === name || names[at] === '*');
    return fits ? [names.at(-1) ?? ''] : [];
  });
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const mediaTypes = ['application/yang-data+json', 'application/json', 'application/yang-data+xml'];
const devices = 'restconf/data/tailf-ncs:devices';
/** Operations that every NSO has. */
const nsoOperations = ['check-sync', 'sync-from', 'sync-to', 'compare-config', 'connect', 'ping'];

type ValuesOf = (place: DocumentPlace, known: Known) => readonly Word[];

function words(labels: readonly string[]): ValuesOf {
  return () => labels.map((label) => ({ label }));
}

/** Names that the document defines. */
function definedIn(part: string): ValuesOf {
  return (_place, { document }) =>
    Object.keys(objectOf(objectOf(objectOf(document)['use'])[part])).map((label) => ({ label, detail: `use.${part}` }));
}

const values: Readonly<Record<string, ValuesOf>> = {
  call: (place, known) =>
    taskAround(place)?.inside.length === 1 ? [...functionsOf(known), ...definedIn('functions')(place, known)] : [],
  adapter: (_place, { adapters }) => adapters.map(({ name, kind }) => ({ label: name, detail: kind })),
  method: words(methods),
  verb: words(methods),
  accept: words(mediaTypes),
  contentType: words(mediaTypes),
  path: pathsFor,
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
  then: targetsAt,
  type: (place, { language }) => (isOfError(place) ? language.errors.map((label) => ({ label })) : []),
  error: definedIn('errors'),
  retry: definedIn('retries'),
  timeout: definedIn('timeouts'),
  use: (place, known) => (place.levels.length > 1 ? definedIn('authentications')(place, known) : []),
};

function valuesAt(place: DocumentPlace, known: Known): readonly Word[] {
  const name = place.levels.at(-1)?.name ?? '';
  return Object.hasOwn(values, name) ? (values[name]?.(place, known) ?? []) : [];
}

function functionsOf({ language }: Known): readonly Word[] {
  return language.functions.map(({ name, role }) => ({ label: name, ...(role === undefined ? {} : { detail: `role ${role}` }) }));
}

function isOfError({ levels }: DocumentPlace): boolean {
  const around = levels.at(-2)?.name;
  return around === 'error' || (around === 'with' && levels.at(-3)?.name === 'errors') || levels[1]?.name === 'errors';
}

/** Operations of NSO, and paths of the document. */
function pathsFor(place: DocumentPlace, { adapters, document }: Known): readonly Word[] {
  const task = taskAround(place);
  const given = task === undefined ? undefined : place.levels[task.depth + 2]?.members.get('adapter');
  const isNso = adapters.some(({ name, kind }) => kind === 'nso' && (given === undefined || name === given));
  const paths = new Set<string>();
  collectPaths(document, paths);
  return [
    ...[...paths].map((label) => ({ label, detail: 'used here' })),
    ...(isNso ? nsoOperations.map((name) => ({ label: `${devices}/${name}`, detail: 'NSO' })) : []),
  ];
}

function collectPaths(value: unknown, paths: Set<string>): void {
  if (typeof value !== 'object' || value === null || paths.size >= 100) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'path' && typeof inner === 'string' && !inner.includes('${')) paths.add(inner);
    else collectPaths(inner, paths);
  }
}

/** The tasks of the list around, and what else `then` may say. */
function targetsAt({ levels }: DocumentPlace, { document }: Known): readonly Word[] {
  const at = levels.findLastIndex((_, index) => isTask(levels, index));
  const list = valueAt(document, levels.slice(0, Math.max(0, at - 1)));
  const tasks = Array.isArray(list) ? list.flatMap((entry: unknown) => Object.keys(objectOf(entry))) : [];
  const directives = ['continue', 'exit', 'end'].map((label) => ({ label, detail: 'directive' }));
  return [...tasks.map((label) => ({ label, detail: 'task' })), ...directives];
}

/** Where the readers of the gateway look which variables there are. */
function momentOf(place: DocumentPlace): string {
  const task = taskAround(place);
  const inside = task === undefined ? namesOf(place.levels) : task.inside;
  if (inside.includes('schema')) return task === undefined ? 'workflowInput' : 'taskInput';
  const [first] = inside;
  if (task === undefined) return first === 'output' ? 'workflowOutput' : first === 'use' ? 'task' : 'workflowInput';
  if (first === 'if' || first === 'input') return 'taskInput';
  return first === 'export' ? 'taskExport' : 'task';
}

/** The variables of a place: those of the language, and those that the tasks around name. */
function variablesAt(place: DocumentPlace, { language, document }: Known): readonly string[] {
  const { levels } = place;
  const moment = momentOf(place);
  const around = levels.flatMap(({ name, members }, at) => {
    const isInside = ['do', 'while', 'foreach', 'catch'].includes(String(name)) && isTask(levels, at - 1);
    return isInside ? [{ kind: kindOf(members, language)?.name ?? '', task: valueAt(document, levels.slice(0, at)) }] : [];
  });
  const names = language.variables.flatMap(({ name, places }) =>
    places.includes(moment) || around.some(({ kind }) => places.includes(kind)) ? [name] : [],
  );
  return [...new Set([...around.flatMap(({ task }) => chosenNames(objectOf(task))), ...names])];
}

/** What a task calls its own variables, where its author chose the names. */
function chosenNames(task: Readonly<Record<string, unknown>>): readonly string[] {
  const [loop, events, clause] = ['for', 'foreach', 'catch'].map((name) => objectOf(task[name]));
  return [loop?.['each'], loop?.['at'], events?.['item'], events?.['at'], clause?.['as']].flatMap((name) =>
    typeof name === 'string' ? [`$${name}`] : [],
  );
}

function valueAt(document: unknown, way: readonly Level[]): unknown {
  let value = document;
  for (const { name } of way) value = Array.isArray(value) ? value[Number(name)] : objectOf(value)[name];
  return value;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}
