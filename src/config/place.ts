import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument } from 'yaml';
import type { YamlText } from '#yaml/yaml-text.ts';
import type { ConfigProblem } from './config-problem.ts';

/** One value of the file. `node` is null for an empty value; of an alias it is the node of the anchor. `offset` is in the text. */
export interface Place {
  readonly reading: Reading;
  readonly node: Node | null;
  readonly offset: number;
  readonly path: string;
}

/** One key of a mapping and the place of its value. `key` is undefined if it is not a text scalar. */
export interface Entry {
  readonly key: string | undefined;
  readonly keyPlace: Place;
  readonly value: Place;
}

interface ReadingOptions {
  readonly file: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly yaml: YamlText;
}

/** Thrown within one load if the file, with its aliases expanded, has more values than the limit. */
export class TooManyValues extends Error {}

const valuesAtMost = 100_000;

/** One pass over one file. Collects problems and warnings with their positions. Relative paths in the file start at `directory`. */
export class Reading {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly root: Place;
  readonly #file: string;
  readonly #yaml: YamlText;
  readonly #problems: ConfigProblem[] = [];
  readonly #warnings: ConfigProblem[] = [];
  /** Key paths of all values read so far, with aliases expanded. */
  readonly #paths = new Set<string>();

  constructor({ file, directory, env, yaml }: ReadingOptions) {
    this.directory = directory;
    this.env = env;
    this.#file = file;
    this.#yaml = yaml;
    this.root = this.place(yaml.root, '', 0);
  }

  get problems(): readonly ConfigProblem[] {
    return this.#problems.toSorted(byPosition);
  }

  get warnings(): readonly ConfigProblem[] {
    return this.#warnings.toSorted(byPosition);
  }

  problem(place: Place, message: string): void {
    this.#problems.push(this.#at(place, message));
  }

  warning(place: Place, message: string): void {
    this.#warnings.push(this.#at(place, message));
  }

  /** The place of `node`. `offset` is the position if the node itself has none. */
  place(node: unknown, path: string, offset: number): Place {
    if (this.#paths.add(path).size > valuesAtMost) throw new TooManyValues();
    const written = (node ?? null) as Node | null;
    const target = isAlias(written) ? (written.resolve(this.#yaml.document) ?? written) : written;
    return { reading: this, node: target, offset: startOf(target) ?? startOf(written) ?? offset, path };
  }

  /** The place of a default, which is YAML text. A problem in a default is a fault of the schema, reported at `parent`. */
  defaultPlace(text: string, path: string, parent: Place): Place {
    return this.place(parseDocument(text).contents, path, parent.offset);
  }

  #at(place: Place, message: string): ConfigProblem {
    return { file: this.#file, ...this.#yaml.positionOf(place.offset), path: place.path, message };
  }
}

function startOf(node: Node | null): number | undefined {
  return node?.range?.[0];
}

function byPosition(a: ConfigProblem, b: ConfigProblem): number {
  return a.line - b.line || a.column - b.column;
}

/** The key path of a member: `adapters[0].url`. */
export function memberPath(parent: string, key: string): string {
  return parent === '' ? key : `${parent}.${key}`;
}

/** The entries of a mapping in the order of the file; empty if `place` is not a mapping. */
export function entriesOf(place: Place): readonly Entry[] {
  if (!isMap(place.node)) return [];
  return place.node.items.map(({ key: keyNode, value }) => {
    const key = isScalar(keyNode) && typeof keyNode.value === 'string' ? keyNode.value : undefined;
    const path = key === undefined ? place.path : memberPath(place.path, key);
    const keyPlace = place.reading.place(keyNode, path, place.offset);
    return { key, keyPlace, value: place.reading.place(value, path, keyPlace.offset) };
  });
}

/** The place of one member's value, or undefined if the mapping has no such member. */
export function memberOf(place: Place, key: string): Place | undefined {
  return entriesOf(place).find((entry) => entry.key === key)?.value;
}

/** The places of a list's items; empty if `place` is not a list. */
export function itemsOf(place: Place): readonly Place[] {
  if (!isSeq(place.node)) return [];
  return place.node.items.map((item, index) => place.reading.place(item, `${place.path}[${index}]`, place.offset));
}

/** The places of the items of one member, which may be absent. */
export function itemsIn(place: Place, key: string): readonly Place[] {
  const member = memberOf(place, key);
  return member === undefined ? [] : itemsOf(member);
}

/** The value of a scalar (string, number, boolean, null); undefined where `place` is something else. */
export function scalarOf(place: Place | undefined): unknown {
  if (place === undefined) return undefined;
  if (place.node === null) return null;
  return isScalar(place.node) ? place.node.value : undefined;
}

/** The kind of value at `place`, for a message. The message never quotes the value. */
function kindOf(place: Place): string {
  const { node } = place;
  if (isMap(node)) return 'a mapping';
  if (isSeq(node)) return 'a list';
  if (isAlias(node)) return 'an alias (*name) without its anchor (&name)';
  const value = scalarOf(place);
  if (value === null) return 'empty';
  return typeof value === 'boolean' ? 'true or false' : typeof value === 'string' ? 'text' : 'a number';
}

/** Reports a value of the wrong kind; `wanted` completes "write …". Returns undefined, as every failed read does. */
export function wrongKind(place: Place, wanted: string): undefined {
  const remedy = scalarOf(place) === null ? `write ${wanted}, or remove the key` : `write ${wanted}`;
  const quoting = isAlias(place.node) ? '; text that begins with * must be quoted' : '';
  place.reading.problem(place, `is ${kindOf(place)}; ${remedy}${quoting}`);
  return undefined;
}
