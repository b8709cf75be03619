import type { JsonNode } from '#json/json-tree.ts';

// XML 1.0 section 2.2: all other characters cannot stand in a document, not even as references.
const forbidden = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/** The first character that XML 1.0 cannot hold, as `U+0001`; undefined where there is none. */
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

/** Character data. A carriage return is written as a reference, for a reader would turn it into a line feed (section 2.11). */
export function escapeXmlText(text: string): string {
  return text.replaceAll(/[&<>\r]/gu, (character) => references[character] ?? character);
}

/** An attribute value for double quotes. White space other than spaces is written as references (section 3.3.3). */
export function escapeXmlAttribute(text: string): string {
  return text.replaceAll(/[&<"\t\n\r]/gu, (character) => references[character] ?? character);
}

/** A scalar's text, numbers with their digits; undefined for null and for what is no scalar. */
export function scalarText(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  return node.kind === 'boolean' ? String(node.value) : undefined;
}
