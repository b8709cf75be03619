import { DocumentReading, kindOf } from '#yaml/document-reading.ts';
import { type Located, locate } from '#yaml/located.ts';
import { parseYaml, type YamlText } from '#yaml/yaml-text.ts';
import type { SecretSources } from '../secrets/secret-sources.ts';

/** A value of the file, or of a default. `path`: `adapters[0].url`. */
export interface Place {
  readonly reading: ConfigReading;
  readonly node: Located;
  readonly offset: number;
  readonly path: string;
}

export interface Entry {
  readonly key: string;
  /** The key itself, with the path of its value. */
  readonly keyPlace: Place;
  readonly value: Place;
}

interface ReadingOptions {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sources: SecretSources;
  readonly yaml: YamlText;
  readonly root: Located;
}

/** One pass over one file. Relative paths start at `directory`. */
export class ConfigReading extends DocumentReading {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sources: SecretSources;
  readonly root: Place;
  readonly #once = new Map<string, unknown>();

  constructor({ directory, env, sources, yaml, root }: ReadingOptions) {
    super(yaml.positionOf, Infinity);
    this.directory = directory;
    this.env = env;
    this.sources = sources;
    this.root = placeAt(this, root, '');
  }

  /** For a section that other sections need: it is read by who asks first, and its problems are reported once. */
  once<T>(section: string, read: () => T): T {
    if (!this.#once.has(section)) this.#once.set(section, read());
    return this.#once.get(section) as T;
  }
}

function placeAt(reading: ConfigReading, node: Located, path: string): Place {
  return { reading, node, offset: node.offset, path };
}

/** `text`: YAML. */
export function defaultPlace(text: string, path: string, { reading }: Place): Place {
  return placeAt(reading, locate(parseYaml(text)).root, path);
}

export function memberPath(parent: string, key: string): string {
  return parent === '' ? key : `${parent}.${key}`;
}

/** Empty for other kinds. */
export function entriesOf(place: Place): readonly Entry[] {
  const { node, reading } = place;
  if (node.kind !== 'object') return [];
  return node.members.map(({ name: key, place: { offset }, value }) => {
    const path = memberPath(place.path, key);
    return { key, keyPlace: { ...place, offset, path }, value: placeAt(reading, value, path) };
  });
}

/** Reports keys that make no entry, and returns whether there are any. A key that `isKnown` refuses is reported at its first entry. */
export function hasFaultyKeys(place: Place, isKnown: (key: string) => boolean): boolean {
  if (place.node.kind !== 'object') return false;
  for (const { name, offset, message } of place.node.faults) {
    if (name === undefined) report({ ...place, offset }, message);
    else if (name === '<<' || isKnown(name)) report({ ...place, offset, path: memberPath(place.path, name) }, message);
  }
  return place.node.faults.length > 0;
}

export function memberOf(place: Place, key: string): Place | undefined {
  return entriesOf(place).find((entry) => entry.key === key)?.value;
}

/** Empty for other kinds. */
export function itemsOf({ reading, node, path }: Place): readonly Place[] {
  if (node.kind !== 'array') return [];
  return node.items.map((item, index) => placeAt(reading, item, `${path}[${index}]`));
}

export function itemsIn(place: Place, key: string): readonly Place[] {
  const member = memberOf(place, key);
  return member === undefined ? [] : itemsOf(member);
}

/** Undefined for mappings and lists. */
export function scalarOf(place: Place | undefined): unknown {
  const node = place?.node;
  if (node === undefined || node.kind === 'object' || node.kind === 'array') return undefined;
  if (node.kind === 'number') return Number(node.json);
  return 'value' in node ? node.value : null;
}

/** Returns undefined, as every failed read does. */
export function report({ reading, node, offset, path }: Place, message: string): undefined {
  return reading.problem({ ...node, offset, pointer: path }, message);
}

export function warn({ reading, offset, path }: Place, message: string): void {
  reading.warning({ offset, pointer: path }, message);
}

/** `wanted` completes "write …". Returns undefined. Never quotes the value. */
export function wrongKind(place: Place, wanted: string): undefined {
  const { node } = place;
  const kind = node.kind === 'object' ? 'a mapping' : kindOf(node);
  return report(place, `is ${kind}; write ${wanted}${node.kind === 'null' ? ', or remove the key' : ''}`);
}
