/** A member of a flat schema, as a form shows it. */
export interface FlatMember {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'list';
  readonly title: string;
  readonly description?: string;
  readonly isRequired: boolean;
  /** Of a choice. */
  readonly choices: readonly string[];
  /** JSON text, or undefined. */
  readonly byDefault?: string;
  readonly pattern?: string;
}

export interface FlatSchema {
  readonly members: readonly FlatMember[];
}

interface SchemaView {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly default?: unknown;
  readonly pattern?: unknown;
  readonly items?: { readonly type?: unknown };
}

/** The members of a JSON Schema of one flat object; undefined where a form cannot show it. */
export function flatSchema(schema: unknown): FlatSchema | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { type, properties, required } = schema as {
    readonly type?: unknown;
    readonly properties?: unknown;
    readonly required?: unknown;
  };
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined;
  const needed = new Set(Array.isArray(required) ? required : []);
  const members: FlatMember[] = [];
  for (const [name, view] of Object.entries(properties as Record<string, SchemaView>)) {
    const kind = kindOf(view);
    if (kind === undefined) return undefined;
    members.push({ name, kind, isRequired: needed.has(name), ...wordsOf(name, view) });
  }
  return { members };
}

function wordsOf(name: string, view: SchemaView): Omit<FlatMember, 'name' | 'kind' | 'isRequired'> {
  return {
    title: typeof view.title === 'string' ? view.title : name,
    choices: Array.isArray(view.enum) ? view.enum.map(String) : [],
    ...(typeof view.description === 'string' ? { description: view.description } : {}),
    ...(view.default === undefined ? {} : { byDefault: JSON.stringify(view.default) }),
    ...(typeof view.pattern === 'string' ? { pattern: view.pattern } : {}),
  };
}

const kinds: Readonly<Record<string, FlatMember['kind']>> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
};

function kindOf(view: SchemaView): FlatMember['kind'] | undefined {
  if (typeof view !== 'object' || view === null) return undefined;
  if (view.type === 'string' && Array.isArray(view.enum)) return 'choice';
  if (view.type === 'array') return view.items?.type === 'string' ? 'list' : undefined;
  return kinds[String(view.type)];
}

/** What a form has for a member, as JSON text with the digits as they were typed; undefined where nothing was typed. */
export function typedJson({ kind, isRequired }: FlatMember, typed: string): string | undefined {
  const text = typed.trim();
  if (kind === 'list') return listJson(typed, isRequired);
  if (text === '') return kind === 'text' && isRequired ? '""' : undefined;
  if (kind === 'boolean') return text;
  // A number keeps its digits. A text that is none goes to the gateway, which says what is wrong with it.
  const isNumber = kind === 'number' || kind === 'integer';
  return isNumber && numberText.test(text) ? text : JSON.stringify(typed);
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/iu;

function listJson(typed: string, isRequired: boolean): string | undefined {
  const entries = typed.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  return entries.length === 0 && !isRequired ? undefined : JSON.stringify(entries);
}

/** What a control shows for a JSON value of an input. */
export function shownText({ kind }: FlatMember, json: string | undefined): string {
  if (json === undefined) return '';
  try {
    const value: unknown = JSON.parse(json);
    if (kind === 'list') return Array.isArray(value) ? value.join('\n') : '';
    return typeof value === 'string' ? value : json;
  } catch {
    return '';
  }
}
