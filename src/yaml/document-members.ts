import type { DocumentReading } from './document-reading.ts';
import type { Located, LocatedMember } from './located.ts';
import { didYouMean, joinWords, quote } from './wording.ts';

/** By name. Unknown members were reported. */
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
    // Another kind of value was reported.
    if (value === undefined && this.#node.kind === 'object') this.#reading.problem(this.#node, `needs "${name}": ${meaning}`);
    return value;
  }

  /** What `reader` makes of a member; undefined where that is absent. */
  read<T>(name: string, reader: (node: Located) => T): T | undefined {
    const node = this.#members.get(name);
    return node && reader(node);
  }

  readRequired<T>(name: string, meaning: string, reader: (node: Located) => T): T | undefined {
    const node = this.required(name, meaning);
    return node && reader(node);
  }

  /** Reports a member that is no object. */
  checkObject(name: string, wanted = 'an object'): void {
    const node = this.#members.get(name);
    if (node !== undefined && node.kind !== 'object') this.#reading.wrongKind(node, wanted);
  }

  /** Of `metadata`: false where it says that nothing of the data of tasks is kept. Other members of it are the writer's own. */
  taskData(): false | undefined {
    this.checkObject('metadata');
    const metadata = this.#members.get('metadata');
    const member = metadata?.kind === 'object' ? metadata.members.find(({ name }) => name === 'taskData')?.value : undefined;
    if (member === undefined) return undefined;
    if (member.kind !== 'boolean') this.#reading.wrongKind(member, 'true or false');
    return member.kind === 'boolean' && !member.value ? false : undefined;
  }

  /** The one of these members that is there. Reports none and several. */
  oneOf<const T extends string>(names: readonly T[], problem: string): T | undefined {
    const given = names.filter((name) => this.#members.has(name));
    if (this.#node.kind === 'object' && given.length !== 1) this.#reading.problem(this.#node, problem);
    return given[0];
  }

  /** Undefined: absent or no text. */
  text(name: string, wanted: string): string | undefined {
    return this.read(name, (node) => readText(this.#reading, node, wanted));
  }

  /** A required text of this form; empty after a report. */
  validText(name: string, isValid: (text: string) => boolean, form: string, wanted = form): string {
    const node = this.required(name, form);
    const text = this.text(name, wanted);
    if (node !== undefined && text !== undefined && !isValid(text))
      this.#reading.problem(node, `${quote(text)} is none; write ${form}`);
    return text ?? '';
  }

  flag(name: string): boolean | undefined {
    const node = this.#members.get(name);
    if (node === undefined || node.kind === 'boolean') return node?.value;
    return this.#reading.wrongKind(node, 'true or false, without quotes');
  }
}

interface Wanted {
  /** Completes "write …". */
  readonly wanted: string;
  readonly known: readonly string[];
  /** Reasons by name. */
  readonly refused?: Readonly<Record<string, string>>;
  /** What other members are. */
  readonly unknown?: string;
}

/** Reports another kind of value, and gives no members of it. */
export function membersOf(
  reading: DocumentReading,
  node: Located,
  { wanted, known, refused = {}, unknown = 'is unknown here' }: Wanted,
): ObjectMembers {
  if (node.kind !== 'object') {
    reading.wrongKind(node, wanted);
    return new ObjectMembers(reading, node);
  }
  for (const { name, place } of node.members) {
    if (reading.isFull) break;
    if (Object.hasOwn(refused, name)) reading.problem(place, `${refused[name]}`);
    else if (!known.includes(name))
      reading.problem(place, `${unknown}${didYouMean(name, known) || `; known are ${joinWords(known)}`}`);
  }
  return new ObjectMembers(reading, node);
}

export function readText(reading: DocumentReading, node: Located, wanted: string): string | undefined {
  return node.kind === 'string' ? node.value : reading.wrongKind(node, wanted);
}

export function wordOf<const T extends string>(reading: DocumentReading, node: Located, words: readonly T[]): T | undefined {
  const wanted = words.length === 1 ? `${words[0]}` : `one of ${joinWords(words)}`;
  const text = readText(reading, node, wanted);
  const word = words.find((candidate) => candidate === text);
  if (word === undefined && text !== undefined)
    reading.problem(node, `${quote(text)} is unknown here; write ${wanted}${didYouMean(text, words)}`);
  return word;
}

export function integerOf(reading: DocumentReading, node: Located, atLeast: number): number | undefined {
  const wanted = `a whole number of at least ${atLeast}`;
  if (node.kind !== 'number') return reading.wrongKind(node, wanted);
  const value = Number(node.json);
  if (Number.isSafeInteger(value) && value >= atLeast) return value;
  return reading.problem(node, `${quote(node.json)} is out of range; write ${wanted}`);
}

/** For names that the author chooses. */
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

/** As in lists of tasks and of cases. */
export function onlyMember(reading: DocumentReading, node: Located, wanted: string): LocatedMember | undefined {
  if (node.kind !== 'object') return reading.wrongKind(node, wanted);
  const [only] = node.members;
  if (node.members.length === 1) return only;
  return reading.problem(
    node,
    `has ${node.members.length} names; write ${wanted}, one in each entry of the list${node.members.length > 1 ? ': is the indentation right, or a "- " missing?' : ''}`,
  );
}
