import { SaxesParser } from 'saxes';
import { jsonOfText } from '../model/leaf-value.ts';
import { malformed } from '../model/orchestrator-error.ts';
import { type BranchNode, childNamed, isBranch, type SchemaNode } from '../model/schema.ts';

/** An XML element: name, text, child elements. Attributes have no data and are dropped. */
interface XmlElement {
  readonly name: string;
  readonly namespace: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

interface OpenElement {
  readonly name: string;
  readonly namespace: string;
  text: string;
  readonly children: OpenElement[];
}

/**
 * Parses an XML document without DOCTYPE.
 * @throws OrchestratorError 400 malformed-message where it is not well-formed or nests deeper than 100.
 */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  const document: OpenElement = { name: '', namespace: '', text: '', children: [] };
  const open = [document];
  const refuse = (reason: string): never => {
    throw malformed(`XML parse error: ${reason}`);
  };
  parser.on('error', (error) => refuse(error.message));
  parser.on('doctype', () => refuse('a DOCTYPE is not allowed'));
  parser.on('opentag', ({ local, uri }) => {
    if (open.length > 100) refuse('nested too deep');
    const element = { name: local, namespace: uri, text: '', children: [] };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  const addText = (chunk: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += chunk;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => open.pop());
  parser.write(text).close();
  return document.children[0] ?? refuse('no element found');
}

/** The element as the equal JSON body (RFC 7951), for a body below `parent`. */
export function jsonOfXml(parent: BranchNode, element: XmlElement): Record<string, unknown> {
  return membersOf(parent, [element]);
}

/** The children of an element as JSON members. Elements unknown to the schema keep their name; the reader refuses them. */
function membersOf(parent: BranchNode, elements: readonly XmlElement[]): Record<string, unknown> {
  const members = new Map<string, unknown>();
  for (const element of elements) {
    const child = childByNamespace(parent, element);
    const member = child?.member ?? element.name;
    const value = child === undefined ? element.text : valueOf(child.schema, element);
    const before = members.get(member);
    const repeats = child?.schema.kind === 'list' || child?.schema.kind === 'leaf-list';
    members.set(member, repeats ? [...(Array.isArray(before) ? before : []), value] : value);
  }
  return Object.fromEntries(members);
}

function valueOf(schema: SchemaNode, element: XmlElement): unknown {
  if (isBranch(schema)) return membersOf(schema, element.children);
  return jsonOfText(schema.type, schema.type === 'string' ? element.text : element.text.trim());
}

function childByNamespace(parent: BranchNode, { name, namespace }: XmlElement) {
  if (namespace === '') return childNamed(parent, name, true);
  const match = [...parent.children].find(([, child]) => child.name === name && child.module.namespace === namespace);
  return match === undefined ? undefined : { member: match[0], schema: match[1] };
}

/** The children of an element as JSON without a schema, for action input: text, objects, and arrays for repeated names. */
export function looseJsonOf(element: XmlElement): unknown {
  if (element.children.length === 0) return element.text.trim();
  const members = new Map<string, unknown>();
  for (const child of element.children) {
    const value = looseJsonOf(child);
    const before = members.get(child.name);
    members.set(child.name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(members);
}
