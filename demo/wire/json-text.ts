import type { Scalar } from '../model/data-tree.ts';
import type { Content } from './document.ts';

/** Options of the JSON text: 64-bit numbers are bare in the legacy API, and strings by RFC 7951. */
interface JsonStyle {
  readonly bareLongNumbers: boolean;
}

/** Contents as the members of one JSON object, indented by two spaces, with a final new line; names as RFC 7951, section 4. */
export function jsonText(contents: readonly Content[], style: JsonStyle = { bareLongNumbers: false }): string {
  return `${objectText(contents, '', '', style)}\n`;
}

function objectText(contents: readonly Content[], module: string, indent: string, style: JsonStyle): string {
  const members = contents.flatMap((content) => memberTexts(content, module, `${indent}  `, style));
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}

function memberTexts(content: Content, parent: string, indent: string, style: JsonStyle): readonly string[] {
  const qualified = content.module.name !== parent && content.module.name !== '';
  const name = `${indent}${JSON.stringify(qualified ? `${content.module.name}:${content.name}` : content.name)}: `;
  if (content.kind === 'list' && content.repeatsName === true) {
    return content.entries.map((entry) => name + objectText(entry, content.module.name, indent, style));
  }
  return [name + valueText(content, indent, style)];
}

function valueText(content: Content, indent: string, style: JsonStyle): string {
  const { kind, module } = content;
  if (kind === 'leaf') return content.long === true && style.bareLongNumbers ? String(content.value) : scalarText(content.value);
  if (kind === 'leaf-list') return JSON.stringify(content.values);
  if (kind === 'container') return objectText(content.children, module.name, indent, style);
  const inner = `${indent}  `;
  const entries = content.entries.map((entry) => inner + objectText(entry, module.name, inner, style));
  return entries.length === 0 ? '[]' : `[\n${entries.join(',\n')}\n${indent}]`;
}

/** A leaf of type empty is `[null]` (RFC 7951, 6.9). */
function scalarText(value: Scalar): string {
  return value === null ? '[null]' : JSON.stringify(value);
}
