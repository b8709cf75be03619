import { wholeAnswer } from '#adapters/dry-run-proof.ts';
import type { DryRunFormat, DryRuns, Preview } from '#adapters/dry-runs.ts';
import { readRestconfError } from '#adapters/restconf-errors.ts';

/** Bytes of an answer. A preview is kept, shown and approved as a whole, so a longer one is none. */
const longestAnswer = 1024 ** 2;

/** Reads the orchestrator's reply to a dry run. Rejects as `read` of DryRuns does, and with `response-too-large`. */
export async function readPreview(
  reply: Parameters<typeof wholeAnswer>[0],
  dryRuns: DryRuns,
  asked: { readonly format: DryRunFormat; readonly path: string },
): Promise<Preview> {
  if (reply.status < 300) return dryRuns.read(await wholeAnswer(reply, longestAnswer), asked);
  const error = readRestconfError(reply);
  reply.discard();
  const said = [error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
  const reason = `The orchestrator answered ${reply.status}${said === '' ? '' : `: ${said.replace(/\.$/u, '')}`}.`;
  return { kind: 'none', reason: reason.replaceAll('\0', '\uFFFD').toWellFormed() };
}
