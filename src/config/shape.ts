import { isMap, isScalar, isSeq } from 'yaml';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import { type Entry, entriesOf, itemsOf, memberOf, memberPath, type Place, scalarOf, wrongKind } from './place.ts';

/**
 * The values allowed at one place of the configuration: how to read them, and their type for the reference.
 * `read` resolves to undefined after it has reported a problem; undefined is never a valid value.
 */
export interface Shape<T> {
  /** For the reference: "duration, at most 1d". */
  readonly type: string;
  readonly members?: Members;
  readonly element?: Shape<unknown>;
  /** Of each value, where the operator chooses the names of the keys. */
  readonly entries?: Shape<unknown>;
  /** The mappings by the text of their member `tag`. */
  readonly variants?: { readonly tag: string; readonly shapes: Readonly<Record<string, Shape<unknown>>> };
  read(place: Place): Promise<T | undefined>;
}

/** A key of a mapping. `default` is YAML text; the same shape reads it if the key is absent. */
export interface Member<T, AlwaysThere extends boolean> {
  readonly shape: Shape<T>;
  readonly alwaysThere: AlwaysThere;
  readonly default?: string;
  readonly meaning: string;
}

export type Members = Readonly<Record<string, Member<unknown, boolean>>>;

type ValueOf<M> = M extends Member<infer T, boolean> ? T : never;

type Mapping<M extends Members> = {
  readonly [K in keyof M as M[K]['alwaysThere'] extends true ? K : never]: ValueOf<M[K]>;
} & {
  readonly [K in keyof M as M[K]['alwaysThere'] extends true ? never : K]?: ValueOf<M[K]>;
};

/** Checks a place as written, even if its value was invalid, and reports problems. */
export type Check = (place: Place) => void;

export function required<T>(shape: Shape<T>, meaning: string): Member<T, true> {
  return { shape, alwaysThere: true, meaning };
}

export function optional<T>(shape: Shape<T>, meaning: string): Member<T, false> {
  return { shape, alwaysThere: false, meaning };
}

export function defaulted<T>(shape: Shape<T>, defaultText: string, meaning: string): Member<T, true> {
  return { shape, alwaysThere: true, default: defaultText, meaning };
}

/** A mapping of exactly these keys. `checks` see the mapping as written. */
export function mapping<M extends Members>(members: M, ...checks: readonly Check[]): Shape<Mapping<M>> {
  return mappingOf(members, checks, knownEntries);
}

/** These keys of a mapping that may have others, which are not read. */
export function part<M extends Members>(members: M): Shape<Mapping<M>> {
  return mappingOf(members, [], (place, keys) => ({
    entries: new Map(entriesOf(place).flatMap((entry) => (keys.includes(entry.key ?? '') ? [[entry.key ?? '', entry]] : []))),
    isWhole: true,
  }));
}

function mappingOf<M extends Members>(members: M, checks: readonly Check[], entriesAt: typeof knownEntries): Shape<Mapping<M>> {
  return {
    type: 'mapping',
    members,
    async read(place) {
      if (!isMap(place.node)) return wrongKind(place, `a mapping of ${listed(Object.keys(members))}`);
      if (!isUntagged(place)) return undefined;
      const written = entriesAt(place, Object.keys(members));
      const values = new Map<string, unknown>();
      let isWhole = written.isWhole;
      for (const [key, member] of Object.entries(members)) {
        const value = await readMember({ key, member, entry: written.entries.get(key), parent: place });
        if (value === undefined) isWhole &&= !member.alwaysThere && !written.entries.has(key);
        else values.set(key, value);
      }
      for (const check of checks) check(place);
      return isWhole ? (Object.fromEntries(values) as Mapping<M>) : undefined;
    },
  };
}

interface MemberAt {
  readonly key: string;
  readonly member: Member<unknown, boolean>;
  readonly entry: Entry | undefined;
  readonly parent: Place;
}

async function readMember({ key, member, entry, parent }: MemberAt): Promise<unknown> {
  if (entry !== undefined) return member.shape.read(entry.value);
  const path = memberPath(parent.path, key);
  if (member.default !== undefined) return member.shape.read(parent.reading.defaultPlace(member.default, path, parent));
  if (member.alwaysThere) parent.reading.problem({ ...parent, path }, `is required and missing. ${member.meaning}`);
  return undefined;
}

/** The entries by key, each key once. Reports unknown and repeated keys. */
function knownEntries(
  place: Place,
  keys: readonly string[],
): { readonly entries: ReadonlyMap<string, Entry>; readonly isWhole: boolean } {
  const entries = new Map<string, Entry>();
  let isWhole = true;
  for (const entry of entriesOf(place)) {
    const { key } = entry;
    if (key !== undefined && keys.includes(key) && !entries.has(key)) {
      entries.set(key, entry);
      continue;
    }
    isWhole = false;
    if (key !== undefined && keys.includes(key)) place.reading.problem(entry.keyPlace, 'is given twice; keep one');
    else reportUnknown(place, entry, keys);
  }
  return { entries, isWhole };
}

/** A key that is no name, or has no value, may be a secret in the wrong place: the message has only its position. */
function reportUnknown(place: Place, { key, keyPlace, value }: Entry, keys: readonly string[]): void {
  const known = `known here are ${listed(keys)}`;
  const unnamed = { ...keyPlace, path: place.path };
  if (key === '<<') {
    place.reading.problem(unnamed, 'merge keys (<<) belong to YAML 1.1; write the keys out, or use an alias for the whole value');
    return;
  }
  const suggestion = key === undefined ? '' : didYouMean(key, keys);
  const isName = key !== undefined && /^[a-z][a-z0-9_-]{0,31}$/iu.test(key);
  if (isName && (suggestion !== '' || scalarOf(value) !== null))
    place.reading.problem(keyPlace, `is unknown${suggestion || `; ${known}`}`);
  else place.reading.problem(unnamed, `holds an unknown key; ${known}`);
}

/** A tag (`!name`) would change the documented type of a value. */
export function isUntagged(place: Place): boolean {
  if (place.node === null || place.node.tag === undefined || place.node.tag === '') return true;
  place.reading.problem(place, 'carries a YAML tag (!name); remove it, and put text in quotes');
  return false;
}

/** A list of at least `atLeast` entries. `checks` see the list as written. */
export function list<T>(
  element: Shape<T>,
  { atLeast = 0, checks = [] }: { readonly atLeast?: number; readonly checks?: readonly Check[] } = {},
): Shape<readonly T[]> {
  return {
    type: `list of ${element.type}`,
    element,
    async read(place) {
      if (!isSeq(place.node)) return wrongKind(place, `a list, e.g. [] or lines that begin with "- "`);
      if (!isUntagged(place)) return undefined;
      const items = itemsOf(place);
      const values: T[] = [];
      for (const item of items) {
        const value = await element.read(item);
        if (value !== undefined) values.push(value);
      }
      if (items.length < atLeast)
        place.reading.problem(place, `needs at least ${atLeast} ${atLeast === 1 ? 'entry' : 'entries'}`);
      for (const check of checks) check(place);
      return values.length === items.length && items.length >= atLeast ? values : undefined;
    },
  };
}

/** One of several mappings, chosen by the text of the member `tag`. */
export function variants<T>(tag: string, shapes: Readonly<Record<string, Shape<T>>>): Shape<T> {
  const names = Object.keys(shapes);
  return {
    type: 'mapping',
    variants: { tag, shapes },
    async read(place) {
      if (!isMap(place.node)) return wrongKind(place, `a mapping with "${tag}" and the keys for it`);
      const chosen = memberOf(place, tag);
      if (chosen === undefined) {
        place.reading.problem({ ...place, path: memberPath(place.path, tag) }, `is missing; write one of ${listed(names)}`);
        return undefined;
      }
      const name = scalarOf(chosen);
      const shape = typeof name === 'string' && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
      if (shape !== undefined) return shape.read(place);
      if (typeof name !== 'string') return wrongKind(chosen, `one of ${listed(names)}`);
      place.reading.problem(chosen, `${shown(name)} is unknown here; write one of ${listed(names)}${didYouMean(name, names)}`);
      return undefined;
    },
  };
}

/** `shape` with its value converted. `change` returns undefined after it has reported a problem. */
export function mapped<T, U>(
  shape: Shape<T>,
  change: (value: T, place: Place) => U | undefined | Promise<U | undefined>,
): Shape<U> {
  return {
    ...shape,
    async read(place) {
      const value = await shape.read(place);
      return value === undefined ? undefined : change(value, place);
    },
  };
}

/** Reports each entry of a list (or its member `key`) that is equal to an earlier one. */
export function unique(key?: string): Check {
  return (place) => {
    const seen = new Map<unknown, string>();
    for (const item of itemsOf(place)) {
      const at = key === undefined ? item : memberOf(item, key);
      const value = scalarOf(at);
      if (at === undefined || !isScalar(at.node) || value === null) continue;
      const first = seen.get(value);
      if (first !== undefined) place.reading.problem(at, `is the same as ${first}; each must be different`);
      seen.set(value, first ?? at.path);
    }
  };
}
