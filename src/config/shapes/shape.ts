import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import {
  defaultPlace,
  type Entry,
  entriesOf,
  hasFaultyKeys,
  itemsOf,
  memberOf,
  memberPath,
  type Place,
  report,
  scalarOf,
  wrongKind,
} from './place.ts';

/** How to read a value, and its type for the reference. `read` gives undefined after a report, never as a value. */
export interface Shape<T> {
  readonly type: string;
  readonly members?: Members;
  readonly element?: Shape<unknown>;
  readonly entries?: Shape<unknown>;
  readonly variants?: { readonly tag: string; readonly shapes: Readonly<Record<string, Shape<unknown>>> };
  read(place: Place): Promise<T | undefined>;
}

/** `default`: YAML text, read by the same shape. */
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

/** Of a place as written, even with an invalid value. */
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

/** Exactly these keys. */
export function mapping<M extends Members>(members: M, ...checks: readonly Check[]): Shape<Mapping<M>> {
  return mappingOf(members, checks, hasOnly);
}

/** Other keys are not read. */
export function part<M extends Members>(members: M): Shape<Mapping<M>> {
  return mappingOf(members, [], () => true);
}

function mappingOf<M extends Members>(members: M, checks: readonly Check[], hasGoodKeys: typeof hasOnly): Shape<Mapping<M>> {
  const keys = Object.keys(members);
  return {
    type: 'mapping',
    members,
    async read(place) {
      if (place.node.kind !== 'object') return wrongKind(place, `a mapping of ${joinWords(keys)}`);
      const written = new Map(entriesOf(place).map(({ key, value }) => [key, value]));
      const values = new Map<string, unknown>();
      let isWhole = hasGoodKeys(place, keys);
      for (const [key, member] of Object.entries(members)) {
        const value = await readMember({ key, member, written: written.get(key), parent: place });
        if (value === undefined) isWhole &&= !member.alwaysThere && !written.has(key);
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
  readonly written: Place | undefined;
  readonly parent: Place;
}

async function readMember({ key, member, written, parent }: MemberAt): Promise<unknown> {
  if (written !== undefined) return member.shape.read(written);
  const path = memberPath(parent.path, key);
  if (member.default !== undefined) return member.shape.read(defaultPlace(member.default, path, parent));
  if (member.alwaysThere) report({ ...parent, path }, `is required and missing. ${member.meaning}`);
  return undefined;
}

/** Reports other and repeated keys. */
function hasOnly(place: Place, keys: readonly string[]): boolean {
  const unknown = entriesOf(place).filter(({ key }) => !keys.includes(key));
  for (const entry of unknown) reportUnknown(place, entry, keys);
  return !hasFaultyKeys(place, (key) => keys.includes(key)) && unknown.length === 0;
}

/** What is no name, or has no value, may be a misplaced secret: the message has only its position. */
function reportUnknown(place: Place, { key, keyPlace, value }: Entry, keys: readonly string[]): void {
  const known = `known here are ${joinWords(keys)}`;
  const suggestion = didYouMean(key, keys);
  const isName = /^[a-z][a-z0-9_-]{0,31}$/iu.test(key);
  if (isName && (suggestion !== '' || scalarOf(value) !== null)) report(keyPlace, `is unknown${suggestion || `; ${known}`}`);
  else report({ ...keyPlace, path: place.path }, `holds an unknown key; ${known}`);
}

/** `checks` see the list as written. */
export function list<T>(
  element: Shape<T>,
  { atLeast = 0, checks = [] }: { readonly atLeast?: number; readonly checks?: readonly Check[] } = {},
): Shape<readonly T[]> {
  return {
    type: `list of ${element.type}`,
    element,
    async read(place) {
      if (place.node.kind !== 'array') return wrongKind(place, `a list, e.g. [] or lines that begin with "- "`);
      const items = itemsOf(place);
      const values: T[] = [];
      for (const item of items) {
        const value = await element.read(item);
        if (value !== undefined) values.push(value);
      }
      if (items.length < atLeast) report(place, `needs at least ${atLeast} ${atLeast === 1 ? 'entry' : 'entries'}`);
      for (const check of checks) check(place);
      return values.length === items.length && items.length >= atLeast ? values : undefined;
    },
  };
}

/** A list of different values. */
export function uniqueList<T>(element: Shape<T>, atLeast = 0): Shape<readonly T[]> {
  return list(element, { atLeast, checks: [unique()] });
}

/** By the text of `tag`. */
export function variants<T>(tag: string, shapes: Readonly<Record<string, Shape<T>>>): Shape<T> {
  const names = Object.keys(shapes);
  return {
    type: 'mapping',
    variants: { tag, shapes },
    async read(place) {
      if (place.node.kind !== 'object') return wrongKind(place, `a mapping with "${tag}" and the keys for it`);
      const chosen = memberOf(place, tag);
      if (chosen === undefined)
        return report({ ...place, path: memberPath(place.path, tag) }, `is missing; write one of ${joinWords(names)}`);
      const name = scalarOf(chosen);
      const shape = typeof name === 'string' && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
      if (shape !== undefined) return shape.read(place);
      if (typeof name !== 'string') return wrongKind(chosen, `one of ${joinWords(names)}`);
      return report(chosen, `${quote(name)} is unknown here; write one of ${joinWords(names)}${didYouMean(name, names)}`);
    },
  };
}

/** `change` gives undefined after a report. */
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

/** Or its member `key`. */
export function unique(key?: string): Check {
  return (place) => {
    const seen = new Map<unknown, string>();
    for (const item of itemsOf(place)) {
      const at = key === undefined ? item : memberOf(item, key);
      const value = scalarOf(at);
      if (at === undefined || value === undefined || value === null) continue;
      const first = seen.get(value);
      if (first !== undefined) report(at, `is the same as ${first}; each must be different`);
      seen.set(value, first ?? at.path);
    }
  };
}

interface NamedOptions {
  readonly type: string;
  readonly example: string;
  /** No message quotes the name, which may be a misplaced secret. */
  readonly refuse: (name: string) => string | undefined;
  readonly checks?: readonly Check[];
}

export function named<T>(
  shape: Shape<T>,
  { type, example, refuse, checks = [] }: NamedOptions,
): Shape<Readonly<Record<string, T>>> {
  return {
    type,
    async read(place) {
      if (place.node.kind !== 'object') return wrongKind(place, `a ${type}, e.g. ${example}`);
      const entries = entriesOf(place);
      let isWhole = !hasFaultyKeys(place, (key) => refuse(key) === undefined);
      const found = new Map<string, T>();
      for (const { key, keyPlace, value } of entries) {
        const fault = refuse(key);
        if (fault !== undefined) report({ ...keyPlace, path: place.path }, fault);
        const read = fault === undefined ? await shape.read(value) : undefined;
        if (read === undefined) isWhole = false;
        else found.set(key, read);
      }
      for (const check of checks) check(place);
      return isWhole ? Object.fromEntries(found) : undefined;
    },
  };
}
