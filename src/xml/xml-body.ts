import { GatewayError } from '#base/gateway-error.ts';
import { createProblemList, type ProblemList } from '#json/forms/problem-list.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { type JsonMember, type JsonNode, readBodyTree } from '#json/json-tree.ts';
import { readXml } from './xml-document.ts';

/** Throws `invalid-request`. */
export function writeXmlBody(object: Buffer): Buffer {
  return Buffer.from(writeXml(readBodyTree(object)));
}

/** One member, the root. `@name`: attribute, `#text`: text, an array repeats, null is empty, numbers keep digits, `{"$xml": "<…/>"}` stays as it is. One `invalid-request` for all problems, below `/body`. */
function writeXml(node: JsonNode): string {
  const list = createProblemList();
  const text = writeDocument(node, list);
  if (list.problems.length > 0) {
    throw new GatewayError('invalid-request', 'The body cannot be written as XML: correct what "errors" lists.', {
      errors: list.problems,
    });
  }
  return text;
}

function writeDocument(node: JsonNode, list: ProblemList): string {
  const member = node.kind === 'object' && node.members.length === 1 ? node.members[0] : undefined;
  if (member === undefined || member[0] === '#text') {
    list.add('/body', 'XML has one root element: send an object with one member, named after the root.');
    return '';
  }
  const [name, value] = member;
  if (name === '$xml') return writeVerbatim(value, list);
  if (value.kind === 'array' && value.items.length !== 1) {
    list.add(pointerTo('/body', name), 'XML has one root element: send an object, or an array with one entry.');
    return '';
  }
  return writeMember(member, { pointer: '/body', scope: outermostScope, list });
}

function writeVerbatim(node: JsonNode, list: ProblemList): string {
  const text = node.kind === 'string' ? node.value : undefined;
  const reading = text === undefined ? { problem: 'it is not a string' } : readXml(text);
  if ('root' in reading && text !== undefined) return text;
  const problem = 'problem' in reading ? reading.problem : '';
  list.add('/body/$xml', `This XML cannot be sent: ${problem}. Send one well-formed document without a DOCTYPE.`);
  return '';
}

interface Place {
  /** Of the object. */
  readonly pointer: string;
  readonly scope: NamespaceScope;
  readonly list: ProblemList;
}

/** Text, an element, or those of an array. */
function writeMember([name, value]: JsonMember, place: Place): string {
  const pointer = pointerTo(place.pointer, name);
  if (name === '#text') return writeText(value, pointer, place.list);
  if (value.kind !== 'array') return writeElement(name, value, { ...place, pointer });
  return value.items.map((item, index) => writeElement(name, item, { ...place, pointer: pointerTo(pointer, index) })).join('');
}

/** Of the element. */
function writeElement(name: string, node: JsonNode, place: Place): string {
  const parsed = readXmlName(name);
  if (parsed === undefined || parsed.prefix === 'xmlns') {
    place.list.add(place.pointer, `${JSON.stringify(name.slice(0, 100))} is not an XML element name: rename it.`);
    return '';
  }
  if (node.kind === 'array') {
    place.list.add(
      place.pointer,
      'An array in an array has no element name: send an object, a string, a number, true, false or null.',
    );
    return '';
  }
  const members = node.kind === 'object' ? node.members : [];
  const { text: attributes, scope } = readAttributes(members, place);
  if (namespaceOf(parsed.prefix, scope) === undefined) {
    place.list.add(place.pointer, `The prefix ${parsed.prefix} is not declared: add "@xmlns:${parsed.prefix}", or use "@xmlns".`);
  }
  const content =
    node.kind === 'object'
      ? members
          .filter(isContent)
          .map((member) => writeMember(member, { ...place, scope }))
          .join('')
      : writeText(node, place.pointer, place.list);
  return content === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${content}</${name}>`;
}

function isContent([name]: JsonMember): boolean {
  return !name.startsWith('@');
}

function writeText(node: JsonNode, pointer: string, list: ProblemList): string {
  if (node.kind === 'null') return '';
  const text = scalarText(node);
  if (text === undefined) {
    list.add(pointer, 'Text is a string, a number, true, false or null: send one of these.');
    return '';
  }
  const forbidden = forbiddenCharacter(text);
  if (forbidden !== undefined) list.add(pointer, `XML 1.0 cannot represent the character ${forbidden}: leave it out.`);
  return escapeXmlText(text);
}

/** Namespaces by prefix (empty: the default one). */
interface NamespaceScope {
  readonly declared: ReadonlyMap<string, string>;
  readonly outer: NamespaceScope | undefined;
  /** A cache: the elements of a list look up the same prefixes. */
  readonly found: Map<string, string | undefined>;
}

const xmlNamespace = 'http://www.w3.org/XML/1998/namespace';
const xmlnsNamespace = 'http://www.w3.org/2000/xmlns/';

/** Namespaces in XML 1.0, section 3. */
const outermostScope: NamespaceScope = {
  declared: new Map([
    ['', ''],
    ['xml', xmlNamespace],
  ]),
  outer: undefined,
  found: new Map(),
};

/** Undefined: not declared. */
function namespaceOf(prefix: string, scope: NamespaceScope): string | undefined {
  if (scope.outer === undefined) return scope.declared.get(prefix);
  if (scope.found.has(prefix)) return scope.found.get(prefix);
  let namespace: string | undefined;
  for (let at: NamespaceScope | undefined = scope; at !== undefined && namespace === undefined; at = at.outer) {
    namespace = at.declared.get(prefix);
  }
  scope.found.set(prefix, namespace);
  return namespace;
}

interface AttributePosition {
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

/** Each with a space before it; `scope`: inside the element. */
function readAttributes(
  members: readonly JsonMember[],
  place: AttributePosition,
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

function readAttribute([member, node]: JsonMember, place: AttributePosition): Attribute | undefined {
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

/** Namespaces in XML 1.0, section 3: a prefix needs a namespace; `xml` and `xmlns` cannot be rebound. */
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

// Not even as a reference (XML 1.0, section 2.2).
const forbidden = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/** Such as `U+0001`. */
export function forbiddenCharacter(text: string): string | undefined {
  const found = forbidden.exec(text)?.[0];
  if (found === undefined) return undefined;
  return `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** Parsers turn a literal carriage return into a line feed (XML 1.0, section 2.11). */
function escapeXmlText(text: string): string {
  return text.replaceAll(/[&<>\r]/gu, (character) => references[character] ?? character);
}

/** For double quotes, with references for other white space (XML 1.0, section 3.3.3). */
function escapeXmlAttribute(text: string): string {
  return text.replaceAll(/[&<"\t\n\r]/gu, (character) => references[character] ?? character);
}

/** Numbers keep their digits. Undefined for null, objects and arrays. */
function scalarText(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  return node.kind === 'boolean' ? String(node.value) : undefined;
}

// NCName (Namespaces in XML 1.0, section 3): NameStartChar and NameChar of XML 1.0, section 2.3, without the colon.
const nameStart =
  'A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}\\u{200D}\\u{2070}-\\u{218F}' +
  '\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}';
const ncName = `[${nameStart}][${nameStart}\\-.0-9\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}]*`;
const qualifiedName = new RegExp(`^(?:(?<prefix>${ncName}):)?(?<local>${ncName})$`, 'u');

/** Empty prefix: none. */
interface XmlName {
  readonly prefix: string;
  readonly local: string;
}

/** Undefined: not allowed in XML. */
function readXmlName(name: string): XmlName | undefined {
  const groups = qualifiedName.exec(name)?.groups;
  const local = groups?.['local'];
  return local === undefined ? undefined : { prefix: groups?.['prefix'] ?? '', local };
}
