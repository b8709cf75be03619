import type { Principal } from '#access/principal.ts';
import { errorCodes } from '#base/error-codes.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { WorkflowCatalogue } from './workflow-catalogue.ts';

/** Whether a principal that may store workflows could store this one, and what it lacks. */
interface ExplainedStoring {
  readonly allowed: boolean;
  /** A sentence. */
  readonly reason: string;
  readonly errors: readonly RequestProblem[];
}

/** Judges a document for a principal, and stores nothing. */
export async function explainStoring(
  check: WorkflowCatalogue['check'],
  { principal, text }: { readonly principal: Principal; readonly text: string },
): Promise<ExplainedStoring> {
  const { errors, refusal } = await check({ principal, bytes: Buffer.from(text), mediaType: 'application/yaml' });
  if (refusal === undefined) return { allowed: true, reason: 'Each call of the document is allowed in a run.', errors };
  const places = errors.map(({ pointer, detail }) => `${pointer === '' ? 'the document' : pointer} ${detail}`);
  return { allowed: false, reason: `The caller gets ${errorCodes[refusal].status} ${refusal}: ${places.join('; ')}`, errors };
}
