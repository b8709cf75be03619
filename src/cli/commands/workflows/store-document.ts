import { visible } from '#base/text/visible.ts';
import { GatewayError, type StoredWorkflow } from '#client/gateway.ts';
import type { GatewaySession } from '../../gateway-session.ts';
import { problemExcerpt } from '../../texts/excerpt.ts';

interface WrittenDocument {
  /** As the person wrote it. */
  readonly file: string;
  readonly text: string;
}

const refusals: ReadonlySet<GatewayError['code']> = new Set(['forbidden', 'workflow-exists', 'workflow-invalid']);

/** Stores a version, and tells its warnings. Resolves with the error where the gateway refuses the document. */
export async function storeDocument(
  { context, gateway }: GatewaySession,
  document: WrittenDocument,
): Promise<StoredWorkflow | GatewayError> {
  const contentType = document.file.endsWith('.json') ? 'application/json' : 'application/yaml';
  try {
    const stored = (await gateway.createWorkflow({ rawBody: document.text, contentType })).value;
    for (const warning of stored.warnings)
      context.stderr.write(`${problemExcerpt(warning, { ...document, end: '(warning)' }).join('\n')}\n`);
    return stored;
  } catch (error) {
    if (error instanceof GatewayError && refusals.has(error.code)) return error;
    throw error;
  }
}

/** Writes each problem of a refused document to standard error, with its line. */
export function tellRefusal(
  { context, complain, wordsFor }: GatewaySession,
  document: WrittenDocument,
  error: GatewayError,
): void {
  const problems = error.problem?.errors ?? [];
  if (problems.length === 0) complain(`${visible(document.file)}: ${wordsFor(error)}`);
  else if (error.code === 'forbidden') complain(`${visible(document.file)}: you may not store it, because rights are missing`);
  for (const problem of problems) context.stderr.write(`${problemExcerpt(problem, document).join('\n')}\n`);
}
