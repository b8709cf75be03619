import { GatewayError } from '#base/gateway-error.ts';
import { readBodyTree } from '#json/body-tree.ts';
import { pointerTo } from '#json/json-pointer.ts';
import type { JsonMember, JsonNode } from '#json/json-tree.ts';
import { createProblemList, type ProblemList } from '#json/problem-list.ts';
import { type NamespaceScope, namespaceOf, outermostScope, readAttributes } from './xml-attributes.ts';
import { readXml } from './xml-document.ts';
import { readXmlName } from './xml-name.ts';
import { escapeXmlText, forbiddenCharacter, scalarText } from './xml-text.ts';

/** Converts a JSON object to XML, as `writeXml` says. Throws `invalid-request`. */
export function writeXmlBody(object: Buffer): Buffer {
  return Buffer.from(writeXml(readBodyTree(object)));
}

/**
 * Writes an object with one member as an XML document. `@name` is an attribute, and `#text` is text. An array repeats the
 * element, null is an empty element, and numbers keep their digits. The text in `{"$xml": "<…/>"}` is taken unchanged if it is
 * XML. One `invalid-request` reports all problems, with pointers below `/body`.
 */
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
  if (name === '$xml') return verbatim(value, list);
  if (value.kind === 'array' && value.items.length !== 1) {
    list.add(pointerTo('/body', name), 'XML has one root element: send an object, or an array with one entry.');
    return '';
  }
  return writeMember(member, { pointer: '/body', scope: outermostScope, list });
}

function verbatim(node: JsonNode, list: ProblemList): string {
  const text = node.kind === 'string' ? node.value : undefined;
  const reading = text === undefined ? { problem: 'it is not a string' } : readXml(text);
  if ('root' in reading && text !== undefined) return text;
  const problem = 'problem' in reading ? reading.problem : '';
  list.add('/body/$xml', `This XML cannot be sent: ${problem}. Send one well-formed document without a DOCTYPE.`);
  return '';
}

interface Place {
  /** The pointer to the object that has the member. */
  readonly pointer: string;
  readonly scope: NamespaceScope;
  readonly list: ProblemList;
}

/** Writes one member of an object: text, an element, or the elements of an array. */
function writeMember([name, value]: JsonMember, place: Place): string {
  const pointer = pointerTo(place.pointer, name);
  if (name === '#text') return writeText(value, pointer, place.list);
  if (value.kind !== 'array') return writeElement(name, value, { ...place, pointer });
  return value.items.map((item, index) => writeElement(name, item, { ...place, pointer: pointerTo(pointer, index) })).join('');
}

/** `place.pointer` is the pointer to the element. */
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
