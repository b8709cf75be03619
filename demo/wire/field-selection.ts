import { invalidValue } from '../model/orchestrator-error.ts';
import { type BranchNode, childNamed, isBranch } from '../model/schema.ts';

/** Selected members below a node, by member name; `all` selects everything below. */
export type FieldSelection = 'all' | ReadonlyMap<string, FieldSelection>;

interface Reading {
  readonly text: string;
  at: number;
}

/**
 * Reads the value of `fields` (RFC 8040, 4.8.3: `a;b/c;d(e;f)`), also with the legacy `*` for all, for a target `schema`.
 * @throws OrchestratorError 400 for a syntax error or a name that the schema does not know there.
 */
export function readFields(schema: BranchNode, text: string, parameter: string): FieldSelection {
  const reading: Reading = { text, at: 0 };
  const selection = readList(schema, reading, parameter);
  if (reading.at < text.length) throw invalidValue(`invalid value for ${parameter}: ${text}`);
  return selection;
}

function readList(schema: BranchNode, reading: Reading, parameter: string): FieldSelection {
  let selection: FieldSelection = new Map();
  for (;;) {
    selection = united(selection, readPath(schema, reading, parameter));
    if (reading.text[reading.at] !== ';') return selection;
    reading.at += 1;
  }
}

function readPath(schema: BranchNode, reading: Reading, parameter: string): FieldSelection {
  const name = /^[^;/()]+/u.exec(reading.text.slice(reading.at))?.[0];
  if (name === undefined) throw invalidValue(`invalid value for ${parameter}: ${reading.text}`);
  reading.at += name.length;
  if (name === '*') return 'all';
  const child = childNamed(schema, name, true);
  if (child === undefined) throw invalidValue(`unknown node ${name} in ${parameter}`);
  return new Map([[child.member, readBelow(child.schema, reading, parameter)]]);
}

function readBelow(schema: Parameters<typeof isBranch>[0], reading: Reading, parameter: string): FieldSelection {
  const next = reading.text[reading.at];
  if (next !== '/' && next !== '(') return 'all';
  if (!isBranch(schema)) throw invalidValue(`${schema.name} has nothing below it, in ${parameter}`);
  reading.at += 1;
  if (next === '/') return readPath(schema, reading, parameter);
  const inner = readList(schema, reading, parameter);
  if (reading.text[reading.at] !== ')') throw invalidValue(`a ) is missing in ${parameter}`);
  reading.at += 1;
  return inner;
}

function united(one: FieldSelection, other: FieldSelection): FieldSelection {
  if (one === 'all' || other === 'all') return 'all';
  const both = new Map(one);
  for (const [member, selection] of other) {
    const there = both.get(member);
    both.set(member, there === undefined ? selection : united(there, selection));
  }
  return both;
}
