import type { BodyMember } from '../model/config-edit.ts';
import type { DataNode, DataObject, Scalar } from '../model/data-tree.ts';
import { readScalar } from '../model/leaf-value.ts';
import { invalidValue, malformed, unknownElement } from '../model/orchestrator-error.ts';
import {
  type BranchNode,
  childNamed,
  type LeafListNode,
  type LeafNode,
  type ListNode,
  type SchemaNode,
} from '../model/schema.ts';

/**
 * Reads the members of a body below `parent`. `json` is the parsed body; XML bodies are converted to this form first.
 * @throws OrchestratorError 400 for unknown elements, invalid values, and operational state.
 */
export function readMembers(parent: BranchNode, json: unknown, path: string): readonly BodyMember[] {
  return Object.entries(objectFrom(json, path)).map(([written, value]) => {
    const child = childNamed(parent, written, true);
    if (child === undefined || !child.schema.config) throw unknownElement(written, path === '' ? '/' : path);
    return { ...child, value: readNode(child.schema, value, `${path}/${child.member}`) };
  });
}

function readNode(schema: SchemaNode, json: unknown, path: string): DataNode {
  if (schema.kind === 'leaf') return scalarFrom(schema, json, path);
  if (schema.kind === 'leaf-list') return arrayFrom(json, path).map((value) => scalarFrom(schema, value, path));
  if (schema.kind === 'container') return readObject(schema, json, path);
  return (Array.isArray(json) ? json : [json]).map((entry) => readEntry(schema, entry, path));
}

function readObject(schema: BranchNode, json: unknown, path: string): DataObject {
  return Object.fromEntries(readMembers(schema, json, path).map(({ member, value }) => [member, value]));
}

function readEntry(schema: ListNode, json: unknown, path: string): DataObject {
  const entry = readObject(schema, json, path);
  const missing = schema.keys.find((key) => entry[key] === undefined);
  if (missing !== undefined) throw malformed(`missing key ${missing} in ${path}`, path);
  return entry;
}

function scalarFrom(schema: LeafNode | LeafListNode, json: unknown, path: string): Scalar {
  const value = readScalar(schema.type, json);
  if (value === undefined) throw invalidValue(`invalid value for ${schema.name}: ${JSON.stringify(json)}`, path);
  return value;
}

function arrayFrom(json: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(json)) throw malformed(`a list of values was expected at ${path}`, path);
  return json;
}

function objectFrom(json: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Record<string, unknown>;
  throw malformed(`an object was expected at ${path === '' ? '/' : path}`, path);
}
