import { isUtf8 } from 'node:buffer';
import { JsonScanner, JsonSyntaxError } from '#json/json-scanner.ts';
import { locate } from '#yaml/located.ts';
import { excessOf } from '#yaml/yaml-limits.ts';
import { parseYaml } from '#yaml/yaml-text.ts';

/** As deep as jq reads. */
const deepest = 10_000;

export function isJsonText(text: string): boolean {
  try {
    const scanner = new JsonScanner({ maxDepth: deepest });
    scanner.push(Buffer.from(text));
    scanner.end();
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

/** A document as JSON text, with the digits of its numbers: JSON stays as it is, YAML is converted. A problem does not quote the text. */
export function jsonOfDocument(bytes: Buffer): { readonly json: string } | { readonly problem: string } {
  if (!isUtf8(bytes)) return { problem: 'it is not UTF-8' };
  const text = bytes.toString();
  if (isJsonText(text)) return { json: text.trim() };
  const excess = excessOf(text);
  if (excess !== undefined) return { problem: excess.message };
  const yaml = parseYaml(text.replace(/\r(?!\n)/gu, '\n'));
  const [fault] = yaml.faults;
  if (fault !== undefined) return { problem: `line ${fault.line}: ${fault.message}` };
  const { root, faults } = locate(yaml);
  const [wrong] = faults;
  // Any page is a text of YAML.
  if (root.kind === 'string') return { problem: 'it is a text alone' };
  return wrong === undefined ? { json: root.json } : { problem: `${wrong.pointer} ${wrong.message}`.trim() };
}
