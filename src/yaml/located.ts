import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { depthAtMost, tooDeep } from './yaml-limits.ts';
import type { YamlText } from './yaml-text.ts';

/** A value of a YAML or JSON text, with its place. Aliases are expanded. */
export type Located = LocatedObject | LocatedArray | LocatedScalar;

export interface TextPlace {
  /** RFC 6901, without a limit of length. */
  readonly pointer: string;
  /** In the text. */
  readonly offset: number;
}

interface LocatedBase extends TextPlace {
  /** The value as JSON text, with the digits that the text has. */
  readonly json: string;
}

export interface LocatedObject extends LocatedBase {
  readonly kind: 'object';
  readonly members: readonly LocatedMember[];
}

export interface LocatedMember {
  readonly name: string;
  /** Of the name. */
  readonly place: TextPlace;
  readonly value: Located;
}

interface LocatedArray extends LocatedBase {
  readonly kind: 'array';
  readonly items: readonly Located[];
}

type LocatedScalar = LocatedBase &
  (
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'boolean'; readonly value: boolean }
    | { readonly kind: 'number' | 'null' }
  );

export interface LocatedText {
  readonly root: Located;
  /** Values that JSON does not have, or that the limits exclude. The tree has null in their place. */
  readonly faults: readonly (TextPlace & { readonly message: string })[];
  /** False where the text exceeds a limit, so that values are missing from the tree. */
  readonly isWhole: boolean;
}

const valuesAtMost = 100_000;
/** Characters of the JSON text, in which each alias counts with all of its anchor. */
const textAtMost = 4 * 1024 ** 2;

/** The tree of a text that has no faults of YAML itself. */
export function locate(yaml: YamlText): LocatedText {
  return new Locator(yaml).locate();
}

class Locator {
  readonly #root: Node | null;
  readonly #faults: (TextPlace & { readonly message: string })[] = [];
  readonly #targets = new Map<Alias, Node>();
  #values = 0;
  #characters = 0;
  #full = false;

  constructor({ root }: YamlText) {
    this.#root = root;
  }

  locate(): LocatedText {
    this.#findAnchors(this.#root, new Map());
    const root = this.#value(this.#root, { pointer: '', offset: 0 }, 1);
    return { root, faults: this.#faults, isWhole: !this.#full };
  }

  /** An alias means the last anchor of its name before it. The library would search the whole text for each alias. */
  #findAnchors(node: unknown, anchors: Map<string, Node>): void {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) this.#targets.set(node, target);
    } else if (isMap(node) || isSeq(node) || isScalar(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      for (const inner of innerNodes(node)) this.#findAnchors(inner, anchors);
    }
  }

  #value(written: unknown, parent: TextPlace, depth: number): Located {
    const node = isAlias(written) ? this.#targets.get(written) : written;
    const place = { pointer: parent.pointer, offset: startOf(node) ?? startOf(written) ?? parent.offset };
    if (this.#exceedsLimits()) return this.#overflow(place);
    const refusal = depth > depthAtMost ? tooDeep : refusalOf(written, node);
    if (refusal !== undefined) return this.#fault(place, refusal);
    if (isMap(node)) return this.#object(node.items, place, depth);
    if (isSeq(node)) return this.#array(node.items, place, depth);
    return isScalar(node) ? this.#scalar(node, place) : nullAt(place);
  }

  #object(pairs: readonly Pair[], place: TextPlace, depth: number): Located {
    const members: LocatedMember[] = [];
    const names = new Set<string>();
    let json = '';
    for (const { key, value } of pairs) {
      if (this.#full) break;
      const name = nameOf(isAlias(key) ? this.#targets.get(key) : key);
      const at = { pointer: childPointer(place.pointer, name ?? ''), offset: startOf(key) ?? place.offset };
      if (name === undefined) this.#fault({ ...at, pointer: place.pointer }, 'has a key that is no text; write a name');
      else if (name === '<<') this.#fault(at, 'is a merge key, which belongs to YAML 1.1; write the members out');
      else if (names.has(name)) this.#fault(at, 'is given twice; keep one');
      else {
        names.add(name);
        const located = this.#value(value, at, depth + 1);
        members.push({ name, place: at, value: located });
        json += `${json === '' ? '' : ','}${this.#string(name)}:${located.json}`;
      }
    }
    return { kind: 'object', ...place, members, json: `{${json}}` };
  }

  #array(nodes: readonly unknown[], place: TextPlace, depth: number): Located {
    const items: Located[] = [];
    let json = '';
    for (const [index, node] of nodes.entries()) {
      if (this.#full) break;
      const item = this.#value(node, { pointer: `${place.pointer}/${index}`, offset: place.offset }, depth + 1);
      items.push(item);
      json += `${index === 0 ? '' : ','}${item.json}`;
    }
    return { kind: 'array', ...place, items, json: `[${json}]` };
  }

  #scalar({ value, source }: Scalar, place: TextPlace): Located {
    if (typeof value === 'string') {
      if (!value.isWellFormed()) return this.#fault(place, 'holds half of a surrogate pair; write well-formed Unicode');
      return { kind: 'string', ...place, value, json: this.#string(value) };
    }
    if (typeof value === 'boolean') return { kind: 'boolean', ...place, value, json: String(value) };
    if (typeof value !== 'number' && typeof value !== 'bigint') return nullAt(place);
    const json = jsonNumber(source ?? String(value));
    if (json === undefined) return this.#fault(place, 'is a number that JSON does not have; put it in quotes if it is text');
    this.#characters += json.length;
    return { kind: 'number', ...place, json };
  }

  #string(value: string): string {
    const json = JSON.stringify(value);
    this.#characters += json.length;
    return json;
  }

  #fault(place: TextPlace, message: string): Located {
    this.#faults.push({ ...place, message });
    return nullAt(place);
  }

  #exceedsLimits(): boolean {
    this.#values += 1;
    return this.#values > valuesAtMost || this.#characters > textAtMost;
  }

  #overflow(place: TextPlace): Located {
    if (this.#full) return nullAt(place);
    this.#full = true;
    const message =
      'the document has more than 100,000 values or 4 MiB; each alias (*name) counts with all of its anchor (&name)';
    return this.#fault({ pointer: '', offset: place.offset }, message);
  }
}

function innerNodes(node: YAMLMap | YAMLSeq | Scalar): readonly unknown[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => [key, value]);
  return isSeq(node) ? node.items : [];
}

function refusalOf(written: unknown, node: unknown): string | undefined {
  if (isAlias(written) && node === undefined)
    return 'is an alias (*name) without its anchor (&name); text that begins with * must be quoted';
  const tag = isMap(node) || isSeq(node) || isScalar(node) ? node.tag : undefined;
  return tag === undefined || tag === '' ? undefined : 'carries a YAML tag (!name); remove it, and put text in quotes';
}

function nullAt(place: TextPlace): Located {
  return { kind: 'null', ...place, json: 'null' };
}

function startOf(node: unknown): number | undefined {
  return (node as Partial<Node> | null | undefined)?.range?.[0];
}

function nameOf(key: unknown): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined;
  const name = typeof key.value === 'string' ? key.value : key.source;
  return name?.isWellFormed() === true ? name : undefined;
}

function childPointer(parent: string, name: string): string {
  return `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A number of YAML 1.2 as JSON writes it, with its digits; undefined for infinity and what is no number. */
function jsonNumber(source: string): string | undefined {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/u.test(source)) return source;
  if (/^0[xo]/u.test(source)) return BigInt(source).toString();
  return decimal(source);
}

/** A number with a plus sign, leading zeros, or nothing before or behind its point. */
function decimal(source: string): string | undefined {
  const parts = /^([-+]?)(\d*)\.?(\d*)((?:[eE][-+]?\d+)?)$/u.exec(source);
  if (parts === null) return undefined;
  const [sign, whole, fraction, exponent] = parts.slice(1) as [string, string, string, string];
  if (whole + fraction === '') return undefined;
  const digits = whole.replace(/^0+(?=\d)/u, '') || '0';
  return `${sign === '-' ? '-' : ''}${digits}${fraction && `.${fraction}`}${exponent}`;
}
