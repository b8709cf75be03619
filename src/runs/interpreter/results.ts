import { JsonValue } from './json-value.ts';
import type { Program } from './programs.ts';
import type { EffectError } from './task-error.ts';
import { expressionError, type StepEvent, type Turn } from './turn.ts';

/** What became of an evaluation. Undefined: the event is not for it. */
type ProgramResult = { readonly values: readonly JsonValue[] } | { readonly error: EffectError };

export function evaluatedBy(run: Turn, wait: number | undefined, program: Program, event: StepEvent): ProgramResult | undefined {
  if (wait === undefined || run.target !== wait) return undefined;
  if (event.kind === 'failed') return { error: event.error };
  if (event.kind !== 'evaluated') return undefined;
  const { outcome } = event;
  if ('results' in outcome) return { values: outcome.results.map((text) => new JsonValue(text)) };
  return { error: expressionError(program.labels[outcome.failed] ?? 'expression', outcome.detail) };
}
