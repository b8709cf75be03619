import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { maxDepth, tooDeep, type YamlText } from './yaml-text.ts';

/** Aliases are expanded. */
export type Located = LocatedObject | LocatedArray | LocatedScalar;

export interface TextPosition {
  /** RFC 6901, of any length. */
  readonly pointer: string;
  readonly offset: number;
  /** Why the value cannot be read; it is null in the tree. */
  readonly fault?: string;
}

type Fault = TextPosition & { readonly message: string };

interface LocatedBase extends TextPosition {
  /** JSON text, with the digits as written. */
  readonly json: string;
}

export interface LocatedObject extends LocatedBase {
  readonly kind: 'object';
  readonly members: readonly LocatedMember[];
  /** Of names that make no member. */
  readonly faults: readonly (Fault & { readonly name: string | undefined })[];
}

export interface LocatedMember {
  readonly name: string;
  readonly place: TextPosition;
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

interface LocatedText {
  readonly root: Located;
  /** All of the tree: what JSON does not have, or limits exclude. */
  readonly faults: readonly Fault[];
  /** Why values are left out. */
  readonly excess: string | undefined;
}

const maxValues = 100_000;
const mergeKey = 'is a merge key, and merge keys belong to YAML 1.1; write the members out, or use an alias for the whole value';
/** Characters of JSON, where each alias counts with its anchor. */
const maxText = 4 * 1024 ** 2;

export interface LocateOptions {
  /** Half a surrogate pair is no fault. */
  readonly keepsSurrogates?: boolean;
}

export function locate(yaml: YamlText, options: LocateOptions = {}): LocatedText {
  return new Locator(yaml, options).locate();
}

class Locator {
  readonly #root: Node | null;
  readonly #isText: (value: string) => boolean;
  readonly #faults: Fault[] = [];
  readonly #targets = new Map<Alias, Node>();
  #values = 0;
  #characters = 0;
  #excess: string | undefined;

  constructor({ root }: YamlText, { keepsSurrogates = false }: LocateOptions) {
    this.#root = root;
    this.#isText = (value) => keepsSurrogates || value.isWellFormed();
  }

  locate(): LocatedText {
    this.#findAnchors(this.#root, new Map());
    const root = this.#value(this.#root, { pointer: '', offset: 0 }, 1);
    return { root, faults: this.#faults, excess: this.#excess };
  }

  /** An alias means the last such anchor before it. The library would search the whole text for each. */
  #findAnchors(node: unknown, anchors: Map<string, Node>): void {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) this.#targets.set(node, target);
    } else if (isMap(node) || isSeq(node) || isScalar(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      for (const inner of innerNodes(node)) this.#findAnchors(inner, anchors);
    }
  }

  #value(written: unknown, parent: TextPosition, depth: number): Located {
    const node = isAlias(written) ? this.#targets.get(written) : written;
    const place = { pointer: parent.pointer, offset: startOf(node) ?? startOf(written) ?? parent.offset };
    if (this.#exceedsLimits()) return this.#overflow(place);
    const refusal = depth > maxDepth ? tooDeep : refusalOf(written, node);
    if (refusal !== undefined) return this.#fault(place, refusal);
    if (isMap(node)) return this.#object(node.items, place, depth);
    if (isSeq(node)) return this.#array(node.items, place, depth);
    return isScalar(node) ? this.#scalar(node, place) : nullAt(place);
  }

  #object(pairs: readonly Pair[], place: TextPosition, depth: number): Located {
    const members: LocatedMember[] = [];
    const faults: (Fault & { readonly name: string | undefined })[] = [];
    const names = new Set<string>();
    let json = '';
    for (const { key, value } of pairs) {
      if (this.#excess !== undefined) break;
      const written = isAlias(key) ? this.#targets.get(key) : key;
      const name = this.#nameOf(written);
      const at = { pointer: childPointer(place.pointer, name), offset: startOf(key) ?? place.offset };
      const refuse = (message: string) => faults.push({ ...at, name, message });
      if (name === undefined) refuse('has a key that is no text; write a name');
      else if (isMergeKey(written)) refuse(mergeKey);
      else if (names.has(name)) refuse('is given twice; keep one');
      else {
        names.add(name);
        const located = this.#value(value, at, depth + 1);
        members.push({ name, place: at, value: located });
        json += `${json === '' ? '' : ','}${this.#string(name)}:${located.json}`;
      }
    }
    this.#faults.push(...faults);
    return { kind: 'object', ...place, members, faults, json: `{${json}}` };
  }

  #array(nodes: readonly unknown[], place: TextPosition, depth: number): Located {
    const items: Located[] = [];
    let json = '';
    for (const [index, node] of nodes.entries()) {
      if (this.#excess !== undefined) break;
      const item = this.#value(node, { pointer: `${place.pointer}/${index}`, offset: place.offset }, depth + 1);
      items.push(item);
      json += `${index === 0 ? '' : ','}${item.json}`;
    }
    return { kind: 'array', ...place, items, json: `[${json}]` };
  }

  #scalar({ value, source }: Scalar, place: TextPosition): Located {
    if (typeof value === 'string') {
      if (!this.#isText(value)) return this.#fault(place, 'holds half of a surrogate pair; write well-formed Unicode');
      return { kind: 'string', ...place, value, json: this.#string(value) };
    }
    if (typeof value === 'boolean') return { kind: 'boolean', ...place, value, json: String(value) };
    if (typeof value !== 'number' && typeof value !== 'bigint') return nullAt(place);
    const json = jsonNumber(source ?? String(value));
    if (json === undefined) return this.#fault(place, 'is a number that JSON does not have; put it in quotes if it is text');
    this.#characters += json.length;
    return { kind: 'number', ...place, json };
  }

  #nameOf(key: unknown): string | undefined {
    if (!isScalar(key) || key.value === null) return undefined;
    const name = typeof key.value === 'string' ? key.value : key.source;
    return name !== undefined && this.#isText(name) ? name : undefined;
  }

  #string(value: string): string {
    const json = JSON.stringify(value);
    this.#characters += json.length;
    return json;
  }

  #fault(position: TextPosition, fault: string): Located {
    this.#faults.push({ ...position, message: fault });
    return nullAt({ ...position, fault });
  }

  #exceedsLimits(): boolean {
    this.#values += 1;
    return this.#values > maxValues || this.#characters > maxText;
  }

  #overflow(place: TextPosition): Located {
    if (this.#excess !== undefined) return nullAt(place);
    this.#excess = 'the document has more than 100,000 values or 4 MiB; each alias (*name) counts with all of its anchor (&name)';
    return this.#fault({ pointer: '', offset: place.offset }, this.#excess);
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

function nullAt(place: TextPosition): Located {
  return { kind: 'null', ...place, json: 'null' };
}

function startOf(node: unknown): number | undefined {
  return (node as Partial<Node> | null | undefined)?.range?.[0];
}

function childPointer(parent: string, name: string | undefined): string {
  return name === undefined ? parent : `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN';
}

/** As JSON writes it, with its digits. Undefined for infinity and other text. */
function jsonNumber(source: string): string | undefined {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/u.test(source)) return source;
  if (/^0[xo]/u.test(source)) return BigInt(source).toString();
  return decimal(source);
}

/** With a plus sign, leading zeros, or nothing on a side of its point. */
function decimal(source: string): string | undefined {
  const parts = /^([-+]?)(\d*)\.?(\d*)((?:[eE][-+]?\d+)?)$/u.exec(source);
  if (parts === null) return undefined;
  const [sign, whole, fraction, exponent] = parts.slice(1) as [string, string, string, string];
  if (whole + fraction === '') return undefined;
  const digits = whole.replace(/^0+(?=\d)/u, '') || '0';
  return `${sign === '-' ? '-' : ''}${digits}${fraction && `.${fraction}`}${exponent}`;
}
