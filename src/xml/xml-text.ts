import type { JsonNode } from '#json/json-tree.ts';

// A document cannot contain any other character, not even as a reference (XML 1.0, section 2.2).
const forbidden = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/** The first character that XML 1.0 cannot represent, such as `U+0001`, or undefined. */
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

/**
 * Escapes character data. A carriage return becomes a reference, because parsers turn a literal one into a line feed (XML 1.0,
 * section 2.11).
 */
export function escapeXmlText(text: string): string {
  return text.replaceAll(/[&<>\r]/gu, (character) => references[character] ?? character);
}

/** Escapes an attribute value for double quotes. White space other than spaces becomes references (XML 1.0, section 3.3.3). */
export function escapeXmlAttribute(text: string): string {
  return text.replaceAll(/[&<"\t\n\r]/gu, (character) => references[character] ?? character);
}

/** The text of a scalar; numbers keep their digits. Undefined for null, objects and arrays. */
export function scalarText(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  return node.kind === 'boolean' ? String(node.value) : undefined;
}
