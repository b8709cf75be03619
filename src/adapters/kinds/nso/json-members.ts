import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';

/** Reads a text in steps between which the event loop continues. Undefined where it is not JSON. */
export async function readTreeInSteps(text: Buffer): Promise<JsonNode | undefined> {
  try {
    return await new JsonTreeReader(text, {}).readInSteps();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** The member with this local name, with or without the name of a module in front of it (RFC 7951, section 4). */
export function memberNamed(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.find(([written]) => localName(written) === name)?.[1];
}

/** The entries of a list; a single object counts as a list of one. */
export function entriesIn(node: JsonNode | undefined): readonly JsonNode[] {
  if (node === undefined) return [];
  return node.kind === 'array' ? node.items : [node];
}

export function textIn(node: JsonNode | undefined, name: string): string | undefined {
  const value = memberNamed(node, name);
  return value?.kind === 'string' ? value.value : undefined;
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
