import { pointerTo } from '#json/json-pointer.ts';
import type { JsonMember } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';
import { readXmlName, type XmlName } from './xml-name.ts';
import { escapeXmlAttribute, forbiddenCharacter, scalarText } from './xml-text.ts';

/** The namespaces that an element declares, by prefix (the empty one is the default), and those around it. */
export interface NamespaceScope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer: NamespaceScope | undefined;
  /** What was looked up here before: elements of a list ask for the same again and again, through all that is around them. */
  readonly found: Map<string, string | undefined>;
}

const xmlNamespace = 'http://www.w3.org/XML/1998/namespace';
const xmlnsNamespace = 'http://www.w3.org/2000/xmlns/';

/** What holds outside of every element (Namespaces in XML 1.0, section 3). */
export const outermostScope: NamespaceScope = {
  declared: new Map([
    ['', ''],
    ['xml', xmlNamespace],
  ]),
  outer: undefined,
  found: new Map(),
};

/** The namespace that a prefix stands for, undefined where it is not declared. */
export function namespaceOf(prefix: string, scope: NamespaceScope): string | undefined {
  if (scope.outer === undefined) return scope.declared.get(prefix);
  if (scope.found.has(prefix)) return scope.found.get(prefix);
  let namespace: string | undefined;
  for (let at: NamespaceScope | undefined = scope; at !== undefined && namespace === undefined; at = at.outer) {
    namespace = at.declared.get(prefix);
  }
  scope.found.set(prefix, namespace);
  return namespace;
}

interface AttributePlace {
  /** Of the element. */
  readonly pointer: string;
  /** Around the element. */
  readonly scope: NamespaceScope;
  readonly list: ProblemList;
}

interface Attribute {
  readonly pointer: string;
  readonly written: string;
  readonly name: XmlName;
  readonly value: string;
}

/** The `@name` members of an element as attributes, each with a space before it, and the namespaces in force inside it. */
export function readAttributes(
  members: readonly JsonMember[],
  place: AttributePlace,
): { readonly text: string; readonly scope: NamespaceScope } {
  const attributes = members.flatMap((member) => readAttribute(member, place) ?? []);
  if (attributes.length === 0) return { text: '', scope: place.scope };
  const declared = new Map<string, string>();
  for (const attribute of attributes) declare(declared, attribute, place.list);
  const scope =
    declared.size === 0 ? place.scope : { declared, outer: place.scope, found: new Map<string, string | undefined>() };
  const seen = new Set<string>();
  for (const attribute of attributes) checkUnique(attribute, scope, seen, place.list);
  return { text: attributes.map(({ written, value }) => ` ${written}="${escapeXmlAttribute(value)}"`).join(''), scope };
}

function readAttribute([member, node]: JsonMember, place: AttributePlace): Attribute | undefined {
  if (!member.startsWith('@')) return undefined;
  const pointer = pointerTo(place.pointer, member);
  const written = member.slice(1);
  const name = readXmlName(written);
  const value = scalarText(node);
  if (name === undefined)
    place.list.add(pointer, `${JSON.stringify(written.slice(0, 100))} is no XML attribute name: rename it.`);
  if (value === undefined) place.list.add(pointer, 'An attribute is a string, a number, true or false: give one of these.');
  const forbidden = forbiddenCharacter(value ?? '');
  if (forbidden !== undefined) place.list.add(pointer, `XML 1.0 cannot hold the character ${forbidden}: leave it out.`);
  return name === undefined || value === undefined ? undefined : { pointer, written, name, value };
}

/** Namespaces in XML 1.0, section 3: a prefix has a name, and `xml` and `xmlns` cannot be bound anew. */
function declare(declarations: Map<string, string>, { pointer, name, value }: Attribute, list: ProblemList): void {
  const declared = name.prefix === 'xmlns' ? name.local : name.prefix === '' && name.local === 'xmlns' ? '' : undefined;
  if (declared === undefined) return;
  const isReserved = value === xmlnsNamespace || (value === xmlNamespace) !== (declared === 'xml') || declared === 'xmlns';
  if (isReserved || (declared !== '' && value === '')) {
    list.add(pointer, 'This prefix cannot be bound to this namespace: give another.');
    return;
  }
  declarations.set(declared, value);
}

function checkUnique({ pointer, name }: Attribute, scope: NamespaceScope, seen: Set<string>, list: ProblemList): void {
  const namespace = name.prefix === '' ? '' : name.prefix === 'xmlns' ? xmlnsNamespace : namespaceOf(name.prefix, scope);
  if (namespace === undefined) {
    list.add(pointer, `The prefix ${name.prefix} is not declared: add "@xmlns:${name.prefix}".`);
    return;
  }
  const expanded = `{${namespace}}${name.local}`;
  if (seen.has(expanded)) list.add(pointer, 'An attribute stands once in an element: give it once.');
  seen.add(expanded);
}
