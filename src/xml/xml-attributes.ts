import { pointerTo } from '#json/json-pointer.ts';
import type { JsonMember } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';
import { readXmlName, type XmlName } from './xml-name.ts';
import { escapeXmlAttribute, forbiddenCharacter, scalarText } from './xml-text.ts';

/**
 * The namespaces that an element declares, by prefix (the empty prefix is the default namespace), and the scope around the
 * element.
 */
export interface NamespaceScope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer: NamespaceScope | undefined;
  /** A cache of look-ups: the elements of a list look up the same prefixes through all outer scopes. */
  readonly found: Map<string, string | undefined>;
}

const xmlNamespace = 'http://www.w3.org/XML/1998/namespace';
const xmlnsNamespace = 'http://www.w3.org/2000/xmlns/';

/** The bindings outside every element (Namespaces in XML 1.0, section 3). */
export const outermostScope: NamespaceScope = {
  declared: new Map([
    ['', ''],
    ['xml', xmlNamespace],
  ]),
  outer: undefined,
  found: new Map(),
};

/** The namespace of a prefix, or undefined if the prefix is not declared. */
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
  /** The pointer to the element. */
  readonly pointer: string;
  /** The scope around the element. */
  readonly scope: NamespaceScope;
  readonly list: ProblemList;
}

interface Attribute {
  readonly pointer: string;
  readonly written: string;
  readonly name: XmlName;
  readonly value: string;
}

/** The attributes from the `@name` members of an element, each with a space before it, and the scope inside the element. */
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
    place.list.add(pointer, `${JSON.stringify(written.slice(0, 100))} is not an XML attribute name: rename it.`);
  if (value === undefined) place.list.add(pointer, 'An attribute is a string, a number, true or false: send one of these.');
  const forbidden = forbiddenCharacter(value ?? '');
  if (forbidden !== undefined) place.list.add(pointer, `XML 1.0 cannot represent the character ${forbidden}: leave it out.`);
  return name === undefined || value === undefined ? undefined : { pointer, written, name, value };
}

/**
 * Namespaces in XML 1.0, section 3: a prefix other than the empty one needs a namespace, and `xml` and `xmlns` cannot be rebound.
 */
function declare(declarations: Map<string, string>, { pointer, name, value }: Attribute, list: ProblemList): void {
  const declared = name.prefix === 'xmlns' ? name.local : name.prefix === '' && name.local === 'xmlns' ? '' : undefined;
  if (declared === undefined) return;
  const isReserved = value === xmlnsNamespace || (value === xmlNamespace) !== (declared === 'xml') || declared === 'xmlns';
  if (isReserved || (declared !== '' && value === '')) {
    list.add(pointer, 'This prefix cannot be bound to this namespace: choose another one.');
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
  if (seen.has(expanded)) list.add(pointer, 'An element has each attribute at most once: send it once.');
  seen.add(expanded);
}
