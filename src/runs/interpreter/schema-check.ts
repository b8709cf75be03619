import type { DataSchema } from '#workflows/workflow.ts';
import type { Argument } from './effects.ts';
import type { JsonValue } from './json-value.ts';
import { constantOf, mentions, type Program } from './programs.ts';
import { type EffectError, standardError } from './task-error.ts';
import type { EffectSink } from './task-kind.ts';
import type { StepEvent, TurnPlace } from './turn.ts';
import { evaluation } from './variables.ts';
import type { ActivityPlace } from './view.ts';

interface Check {
  readonly schema: DataSchema;
  readonly value: JsonValue;
  readonly wait: number;
}

/** Waits for the verdict of a schema, or first for the schema. */
export function checkEffects(place: ActivityPlace, { schema, value, wait }: Check, sink: EffectSink): void {
  const { pointer, resource } = schema;
  const document = schema.document ?? fetched(place, pointer);
  if (document !== undefined) {
    sink.add(wait, (key) => ({ kind: 'validate', key, schema: { pointer, document }, value: value.text }));
  } else if (resource !== undefined) {
    const endpoint = endpointOf(place, resource.endpoint, value);
    sink.add(wait, () => ({ kind: 'fetch', key: fetchKey(pointer), pointer, endpoint }));
  }
}

function fetched({ run }: ActivityPlace, pointer: string): string | undefined {
  return run.run.resources.find((resource) => resource.pointer === pointer)?.document.text;
}

/** A fetch has one key for all tasks that wait for it. */
function fetchKey(pointer: string): string {
  return `fetch:${pointer}`;
}

function endpointOf(place: ActivityPlace, expression: Parameters<typeof constantOf>[0], value: JsonValue): Argument {
  const constant = constantOf(expression);
  if (constant !== undefined) return { value: constant.text };
  const program: Program = { expressions: [expression.jq], labels: ['endpoint'], names: new Set(mentions(expression.jq)) };
  return { evaluation: evaluation(place, program, value) };
}

/** The verdict, if the event has it. */
export function checkedBy(
  { run }: TurnPlace,
  { schema, wait }: Omit<Check, 'value'>,
  event: StepEvent,
): { readonly error?: EffectError } | undefined {
  if (event.kind === 'failed' && (run.target === wait || event.key === fetchKey(schema.pointer))) return { error: event.error };
  if (event.kind !== 'validated' || run.target !== wait) return undefined;
  if (event.problems.length === 0) return {};
  return { error: standardError('validation', 'Data does not satisfy its schema', event.problems.join('; ')) };
}
