import { type JsonNode, readJsonTree } from './json-tree.ts';

/**
 * The value of a JSON text, as JSON.parse should give it: of a repeated name, the last value counts. V8 14.6 can take a name that is
 * written as one escape for a backslash (`test/node-contract.test.ts`). So a text with a backslash is read by our own scanner. Throws
 * SyntaxError where the text is no JSON, and RangeError where it is nested too deeply.
 */
export function parsePlain(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes('\\') ? plainOf(readJsonTree(Buffer.from(text), { maxDepth: Infinity })) : value;
}

function plainOf(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(([name, value]) => [name, plainOf(value)]));
    case 'array':
      return node.items.map(plainOf);
    case 'number':
      return Number(node.text);
    case 'null':
      return null;
    default:
      return node.value;
  }
}
