import { isUtf8 } from 'node:buffer';
import { JsonScanner, JsonSyntaxError } from '#json/json-scanner.ts';
import { locate } from '#yaml/located.ts';
import { excessOf, parseYaml } from '#yaml/yaml-text.ts';

/** The text without a byte order mark (RFC 8259, section 8.1: a reader may ignore it). */
export function withoutMark(text: string): string {
  return text.startsWith('\u{feff}') ? text.slice(1) : text;
}

/** As deep as jq reads. */
const deepest = 10_000;

/** Why the text is no JSON, with line and column from 1; undefined where it is. Nothing of the text is quoted. */
export function jsonProblem(text: string): string | undefined {
  const bytes = Buffer.from(text);
  try {
    const scanner = new JsonScanner({ maxDepth: deepest });
    scanner.push(bytes);
    scanner.end();
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const before = bytes.toString('utf8', 0, error.offset).split('\n');
    return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${error.message}`;
  }
}

/** A document as JSON text, with the digits of its numbers: JSON stays as it is, YAML is converted. A problem does not quote the text. */
export function jsonOfDocument(bytes: Buffer): { readonly json: string } | { readonly problem: string } {
  if (!isUtf8(bytes)) return { problem: 'it is not UTF-8' };
  const text = withoutMark(bytes.toString());
  if (jsonProblem(text) === undefined) return { json: text.trim() };
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
