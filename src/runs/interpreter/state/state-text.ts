import { JsonValue, longText } from './json-value.ts';
import type { RunState } from './run-state.ts';

/** A state as a small text, and its long values apart. Two texts of a run that have the same value name it by the same id. */
interface StateText {
  readonly text: string;
  readonly values: ReadonlyMap<string, string>;
}

interface WrittenValue {
  /** JSON text of a short value. */
  readonly json?: string;
  /** Id of a long value. */
  readonly apart?: string;
}

export function writeState(state: RunState): StateText {
  const values = new Map<string, string>();
  const text = JSON.stringify(state, (_name, member: unknown): unknown => {
    if (!(member instanceof JsonValue)) return member;
    if (member.text.length < longText) return { json: member.text } satisfies WrittenValue;
    values.set(member.id, member.text);
    return { apart: member.id } satisfies WrittenValue;
  });
  return { text, values };
}

/** Reads what `writeState` wrote. Throws Error where a value is missing. */
export function readState(text: string, values: ReadonlyMap<string, string>): RunState {
  const read = new Map<string, JsonValue>();
  return JSON.parse(text, (_name, member: unknown): unknown => {
    if (typeof member !== 'object' || member === null) return member;
    const { json, apart } = member as WrittenValue;
    if (json !== undefined) return new JsonValue(json);
    return apart === undefined ? member : readApart(apart, values, read);
  }) as RunState;
}

function readApart(id: string, values: ReadonlyMap<string, string>, read: Map<string, JsonValue>): JsonValue {
  const known = read.get(id);
  if (known !== undefined) return known;
  const text = values.get(id);
  if (text === undefined) throw new Error(`The state names a value that is not kept: ${id}.`);
  const value = new JsonValue(text);
  read.set(id, value);
  return value;
}
