import type { ExpressionPool } from '#workflows/jq/expression-pool.ts';
import { secretMentions } from '#workflows/reader/jq-source.ts';
import type { Argument, TaskEvaluation } from '../interpreter/effects.ts';
import type { RunEvent } from '../interpreter/state/run-events.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';

interface Evaluating {
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly secrets: RunSecrets;
}

type Outcome = Extract<RunEvent, { readonly kind: 'evaluated' }>['outcome'];

export async function evaluateTask(
  { expressions, secrets }: Evaluating,
  evaluation: TaskEvaluation,
): Promise<{ readonly outcome: Outcome } | { readonly error: EffectError }> {
  const bound = withSecrets(secrets, evaluation);
  if ('error' in bound) return bound;
  return { outcome: await expressions.evaluate(bound.evaluation) };
}

/** Expressions get placeholders: no thread has the value of a secret. */
function withSecrets(
  secrets: RunSecrets,
  evaluation: TaskEvaluation,
): { readonly evaluation: TaskEvaluation } | { readonly error: EffectError } {
  if (!evaluation.usesSecrets) return { evaluation };
  const bound = secrets.variable(evaluation.expressions.flatMap(secretMentions));
  if ('refused' in bound) return { error: standardError('authorization', 'A secret may not be used', bound.refused) };
  if ('text' in bound) return { evaluation: { ...evaluation, variables: { ...evaluation.variables, secrets: bound.text } } };
  const names = bound.missing.map((name) => `"${name}"`).join(', ');
  const detail = `automations.secrets of the configuration does not have ${names}; ask the operator of the gateway.`;
  return { error: standardError('configuration', 'A secret is not configured', detail) };
}

/** The arguments, in which placeholders may be. */
export async function evaluateArgument(
  evaluating: Evaluating,
  given: Argument,
): Promise<{ readonly text: string } | { readonly error: EffectError }> {
  if ('value' in given) return { text: given.value };
  const answer = await evaluateTask(evaluating, given.evaluation);
  if ('error' in answer) return answer;
  const { outcome } = answer;
  if ('results' in outcome) return { text: outcome.results[0] ?? 'null' };
  return { error: standardError('expression', 'Expression failed', `with: ${outcome.detail}`) };
}
