import { type JsonNode, readJsonTree } from './json-tree.ts';

/** A double where that has the same text, else raw JSON. */
export function exactNumber(text: string): number | RawJson {
  const number = Number(text);
  return String(number) === text ? number : JSON.rawJSON(text);
}

/** With `exactNumber`, several times slower than `JSON.parse`. */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, { source }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value,
  );
}

/** As JSON.parse should: V8 14.6 can take an escaped name for a backslash (`test/node-contract.test.ts`), so texts with one are read by our scanner. Throws SyntaxError, and RangeError for too deep nesting. */
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
