import type { Scalar } from '../model/data-tree.ts';
import type { Content } from './document.ts';

/** Contents as XML elements, indented by two spaces, with `xmlns` where the namespace differs from the parent's. */
export function xmlText(contents: readonly Content[], parentNamespace = '', indent = ''): string {
  return contents.map((content) => elementTexts(content, parentNamespace, indent)).join('');
}

function elementTexts(content: Content, parentNamespace: string, indent: string): string {
  const { namespace } = content.module;
  const attribute = namespace === parentNamespace || namespace === '' ? '' : ` xmlns="${escapeXml(namespace)}"`;
  const one = (children: readonly Content[]): string => branchText(content.name, attribute, children, namespace, indent);
  const { kind, name } = content;
  if (kind === 'leaf') return leafText(name, attribute, content.value, indent);
  if (kind === 'leaf-list') return content.values.map((value) => leafText(name, attribute, value, indent)).join('');
  if (kind === 'container') return one(content.children);
  return content.entries.map(one).join('');
}

function branchText(name: string, attribute: string, children: readonly Content[], namespace: string, indent: string): string {
  if (children.length === 0) return `${indent}<${name}${attribute}/>\n`;
  return `${indent}<${name}${attribute}>\n${xmlText(children, namespace, `${indent}  `)}${indent}</${name}>\n`;
}

function leafText(name: string, attribute: string, value: Scalar, indent: string): string {
  if (value === null) return `${indent}<${name}${attribute}/>\n`;
  return `${indent}<${name}${attribute}>${escapeXml(String(value))}</${name}>\n`;
}

/** Text for an element or a double-quoted attribute; characters that XML 1.0 forbids become U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;')
    .replaceAll(/[^\t\n\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}');
}
