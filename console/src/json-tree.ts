/** A JSON value as it is drawn: numbers keep their digits, and members their order, repeated ones too. */
export type JsonNode =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'list'; readonly entries: readonly JsonNode[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: JsonNode])[] };

/** An object or a list of which the end is not reached. */
interface Open {
  readonly members: [string, JsonNode][] | undefined;
  readonly entries: JsonNode[];
  name: string | undefined;
}

/** Reads JSON text; undefined where it is none. A string that is the text of a JSON object or array stays a string. */
export function readJson(text: string): JsonNode | undefined {
  if (!isJson(text)) return undefined;
  const root = opening('[');
  const stack = [root];
  const innermost = (): Open => stack.at(-1) ?? root;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu)) {
    const around = innermost();
    if (token === '{' || token === '[') stack.push(opening(token));
    else if (token === '}' || token === ']') {
      stack.pop();
      add(innermost(), closed(around));
    } else if (token !== ',' && token !== ':') take(around, token);
  }
  return root.entries[0];
}

function opening(token: '[' | '{'): Open {
  return { members: token === '{' ? [] : undefined, entries: [], name: undefined };
}

function closed({ members, entries }: Open): JsonNode {
  return members === undefined ? { kind: 'list', entries } : { kind: 'object', members };
}

/** The name of a member, or a value. */
function take(around: Open, token: string): void {
  if (around.members !== undefined && around.name === undefined) around.name = stringOf(token);
  else add(around, { kind: 'value', text: token });
}

function add(around: Open, node: JsonNode): void {
  if (around.members === undefined) around.entries.push(node);
  else around.members.push([around.name ?? '', node]);
  around.name = undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function stringOf(token: string): string {
  return JSON.parse(token) as string;
}

/** The value of a string; undefined for any other value. */
export function textOfNode(node: JsonNode): string | undefined {
  return node.kind === 'value' && node.text.startsWith('"') ? stringOf(node.text) : undefined;
}

/** What a string holds, if that is a JSON object or array: the gateway hands on replies of orchestrators as strings. Else the node itself. */
export function opened(node: JsonNode): JsonNode {
  const text = textOfNode(node);
  if (text === undefined || !/^\s*[[{]/u.test(text)) return node;
  return readJson(text) ?? node;
}

/** A list of objects as a table. */
export interface JsonTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (JsonNode | undefined)[])[];
}

/** Columns of a table. */
const maxColumns = 12;

/** The first list of objects in a value, the nearest one to its root; undefined where there is none. */
export function tableIn(root: JsonNode): JsonTable | undefined {
  let level: JsonNode[] = [root];
  while (level.length > 0) {
    for (const node of level) {
      const table = node.kind === 'list' ? tableOf(node.entries) : undefined;
      if (table !== undefined) return table;
    }
    level = level.flatMap(childrenOf);
  }
  return undefined;
}

function childrenOf(node: JsonNode): JsonNode[] {
  if (node.kind === 'list') return node.entries.map(opened);
  return node.kind === 'object' ? node.members.map(([, value]) => opened(value)) : [];
}

function tableOf(entries: readonly JsonNode[]): JsonTable | undefined {
  const objects = entries.map(unwrapped).flatMap((entry) => (entry.kind === 'object' ? [entry.members] : []));
  if (objects.length === 0 || objects.length < entries.length) return undefined;
  // A list with the reply of an action in it is no table.
  if (objects.length === 1 && objects[0]?.every(([, value]) => opened(value) !== value)) return undefined;
  const columns = [...new Set(objects.flatMap((members) => members.map(([name]) => name)))].slice(0, maxColumns);
  return { columns, rows: objects.map((members) => columns.map((column) => members.find(([name]) => name === column)?.[1])) };
}

/** `{ "instance_data": { … } }` is its content. */
function unwrapped(entry: JsonNode): JsonNode {
  const [only, ...others] = entry.kind === 'object' ? entry.members : [];
  const value = others.length > 0 ? undefined : only?.[1];
  return value?.kind === 'object' ? value : entry;
}
