import { invalidValue, malformed, unknownElement } from '../model/orchestrator-error.ts';
import type { ActionNode } from '../model/schema.ts';
import type { OutFormat } from './dry-run-content.ts';
import type { Format } from './media-types.ts';
import { looseJsonOf, parseXml } from './xml-input.ts';

/** An action's input by name: text, numbers, arrays and objects as in the request. */
export type ActionInput = Readonly<Record<string, unknown>>;

/**
 * Reads an action's input from its body; an empty body is no input. The wrapper `input` is optional and may have the module's name.
 * @throws OrchestratorError 400 for text that does not parse and names that the action does not accept.
 */
export function readActionInput(action: ActionNode, body: string, format: Format): ActionInput {
  if (body.trim() === '') return {};
  const read = format === 'xml' ? readXmlInput(body) : unwrapped(action, parseJson(body));
  const input = new Map(Object.entries(read).map(([name, value]) => [localName(name), value]));
  const unknown = [...input.keys()].find((name) => !action.input.includes(name));
  if (unknown !== undefined) throw unknownElement(unknown, `/${action.module.name}:${action.name}/input`);
  return Object.fromEntries(input);
}

function readXmlInput(body: string): object {
  const root = parseXml(body);
  if (root.name !== 'input') throw unknownElement(root.name, '/');
  const value = looseJsonOf(root);
  return typeof value === 'object' && value !== null ? value : {};
}

function unwrapped(action: ActionNode, json: unknown): object {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw malformed('an object was expected as input');
  const members = json as Readonly<Record<string, unknown>>;
  const wrapped = Object.entries(members).find(([name]) => name === 'input' || name === `${action.module.name}:input`);
  const input = wrapped === undefined ? members : (wrapped[1] ?? {});
  if (typeof input !== 'object' || Array.isArray(input)) throw malformed('an object was expected as input');
  return input;
}

/** @throws OrchestratorError 400 malformed-message where the text is not JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw malformed(`JSON parse error: ${error instanceof Error ? error.message : 'not JSON'}`);
  }
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The values of a leaf-list in the input; a single value may come without an array, as from XML. */
export function inputValues(input: ActionInput, name: string): readonly string[] {
  const value = input[name];
  return value === undefined ? [] : [value].flat().map(String);
}

export function hasInput(input: ActionInput, name: string): boolean {
  return input[name] !== undefined;
}

/** An output format: the leaf `name` itself, or `outformat` inside the container `name`. Undefined where `name` is absent. */
export function inputFormat(input: ActionInput, name: string): OutFormat | undefined {
  const given = input[name];
  if (given === undefined) return undefined;
  const inner = typeof given === 'object' && given !== null ? (given as { readonly outformat?: unknown }).outformat : given;
  if (inner === undefined || inner === '') return 'cli';
  if (inner === 'native' || inner === 'cli' || inner === 'xml') return inner;
  throw invalidValue(`invalid value for outformat: ${JSON.stringify(inner)}`);
}
