import type { Located, LocatedMember } from '#yaml/located.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import type { DocumentReading } from './reading.ts';

/** The members of an object by name, after unknown ones were reported. */
export class ObjectMembers {
  readonly #reading: DocumentReading;
  readonly #node: Located;
  readonly #members: ReadonlyMap<string, Located>;

  constructor(reading: DocumentReading, node: Located) {
    this.#reading = reading;
    this.#node = node;
    this.#members = new Map(node.kind === 'object' ? node.members.map(({ name, value }) => [name, value]) : []);
  }

  get(name: string): Located | undefined {
    return this.#members.get(name);
  }

  required(name: string, meaning: string): Located | undefined {
    const value = this.#members.get(name);
    // Of what is no object, this is reported instead.
    if (value === undefined && this.#node.kind === 'object') this.#reading.problem(this.#node, `needs "${name}": ${meaning}`);
    return value;
  }

  /** The text of a member; undefined where it is absent or no text. */
  text(name: string, wanted: string): string | undefined {
    const node = this.#members.get(name);
    return node === undefined ? undefined : readText(this.#reading, node, wanted);
  }

  flag(name: string): boolean | undefined {
    const node = this.#members.get(name);
    if (node === undefined || node.kind === 'boolean') return node?.value;
    return this.#reading.wrongKind(node, 'true or false, without quotes');
  }
}

interface Wanted {
  /** Completes "write …" where the value is no object. */
  readonly wanted: string;
  readonly known: readonly string[];
  /** Why a member is refused, by its name. */
  readonly refused?: Readonly<Record<string, string>>;
}

/** Reads an object. Of any other value, reports the kind and has no members. */
export function membersOf(reading: DocumentReading, node: Located, { wanted, known, refused = {} }: Wanted): ObjectMembers {
  if (node.kind !== 'object') {
    reading.wrongKind(node, wanted);
    return new ObjectMembers(reading, node);
  }
  for (const { name, place } of node.members) {
    if (reading.isFull) break;
    if (Object.hasOwn(refused, name)) reading.problem(place, `${refused[name]}`);
    else if (!known.includes(name)) reading.problem(place, unknownMember(name, known));
  }
  return new ObjectMembers(reading, node);
}

function unknownMember(name: string, known: readonly string[]): string {
  return `is unknown here${didYouMean(name, known) || `; known are ${listed(known)}`}`;
}

export function readText(reading: DocumentReading, node: Located, wanted: string): string | undefined {
  return node.kind === 'string' ? node.value : reading.wrongKind(node, wanted);
}

/** One of these words. */
export function wordOf<const T extends string>(reading: DocumentReading, node: Located, words: readonly T[]): T | undefined {
  const wanted = words.length === 1 ? `${words[0]}` : `one of ${listed(words)}`;
  const text = readText(reading, node, wanted);
  const word = words.find((candidate) => candidate === text);
  if (word === undefined && text !== undefined)
    reading.problem(node, `${shown(text)} is unknown here; write ${wanted}${didYouMean(text, words)}`);
  return word;
}

/** A whole number of at least `atLeast`. */
export function integerOf(reading: DocumentReading, node: Located, atLeast: number): number | undefined {
  const wanted = `a whole number of at least ${atLeast}`;
  if (node.kind !== 'number') return reading.wrongKind(node, wanted);
  const value = Number(node.json);
  if (Number.isSafeInteger(value) && value >= atLeast) return value;
  reading.problem(node, `${shown(node.json)} is out of range; write ${wanted}`);
  return undefined;
}

/** The entries of an object whose names the author chooses. */
export function namedEntries(reading: DocumentReading, node: Located | undefined, wanted: string): readonly LocatedMember[] {
  if (node === undefined) return [];
  if (node.kind === 'object') return node.members;
  reading.wrongKind(node, wanted);
  return [];
}

export function listItems(reading: DocumentReading, node: Located | undefined, wanted: string): readonly Located[] {
  if (node === undefined) return [];
  if (node.kind === 'array') return node.items;
  reading.wrongKind(node, wanted);
  return [];
}

/** The one member of an object, as entries of lists of tasks and of cases have it. */
export function onlyMember(reading: DocumentReading, node: Located, wanted: string): LocatedMember | undefined {
  if (node.kind !== 'object') return reading.wrongKind(node, wanted);
  const [only] = node.members;
  if (node.members.length === 1) return only;
  reading.problem(
    node,
    `has ${node.members.length} names; write ${wanted}, one in each entry of the list${node.members.length > 1 ? ': is the indentation right, or a "- " missing?' : ''}`,
  );
  return undefined;
}
