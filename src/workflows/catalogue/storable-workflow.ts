import type { Principal } from '#access/principal.ts';
import type { Clock } from '#base/clock.ts';
import { andMore, GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { DocumentProblem } from '#yaml/document-reading.ts';
import type { RunSite } from '../call-operations.ts';
import type { WorkflowFacts, WorkflowJudgement } from '../reading-threads.ts';
import { documentDigest, type WorkflowCalls } from './workflow-row.ts';
import type { AddedWorkflow, StoredWorkflow, WorkflowMediaType, WorkflowStore } from './workflow-store.ts';

export interface GivenDocument {
  readonly principal: Principal;
  readonly bytes: Buffer;
  readonly mediaType: WorkflowMediaType;
}

/** How a document is read, with what the principal may use. */
export type JudgeDocument = (given: GivenDocument) => Promise<WorkflowJudgement>;

/** What a version becomes in the store. Rejects with `workflow-invalid` and every problem. */
export async function readStorable(
  given: GivenDocument,
  { judge, clock }: { readonly judge: JudgeDocument; readonly clock: Clock },
): Promise<{ readonly workflow: StoredWorkflow; readonly warnings: readonly DocumentProblem[] }> {
  const judgement = await judge(given);
  if ('problems' in judgement) throw invalid(judgement.problems);
  const { principal, bytes, mediaType } = given;
  const text = bytes.toString();
  const storers = [{ id: principal.id, username: principal.username, lends: true }];
  const stamp = { createdAt: clock.now(), createdBy: storableName(principal.username), digest: documentDigest(text), storers };
  return { workflow: { ...shortened(judgement.facts), text, mediaType, ...stamp }, warnings: judgement.warnings };
}

/** Characters. */
const maxTitleLength = 500;

function shortened(facts: WorkflowFacts): WorkflowFacts {
  return facts.title === undefined ? facts : { ...facts, title: facts.title.slice(0, maxTitleLength).toWellFormed() };
}

/** PostgreSQL accepts neither U+0000 nor a lone surrogate. */
function storableName(username: string): string {
  return username.replaceAll('\0', '\uFFFD').toWellFormed();
}

function invalid(problems: readonly DocumentProblem[]): GatewayError {
  const [first] = problems;
  const place = first === undefined ? '' : ` at line ${first.line}, column ${first.column}: ${first.detail}`;
  return new GatewayError('workflow-invalid', `The document is no workflow that can run${place}${andMore(problems)}.`, {
    errors: problems,
    logged: 'The document is no workflow that can run.',
  });
}

export function refuseMissingRights(missing: readonly RequestProblem[]): void {
  const [first] = missing;
  if (first === undefined) return;
  const place = first.pointer === '' ? '' : ` ${first.pointer}`;
  const detail = first.detail.replace(/\.$/u, '');
  throw new GatewayError('forbidden', `You may not write this workflow:${place} ${detail}${andMore(missing)}.`, {
    errors: missing,
    logged: 'The caller may not write this workflow.',
  });
}

/** Throws `workflow-exists`. */
export function requireAdded(added: AddedWorkflow, { id, version, text }: StoredWorkflow) {
  if (added === 'deleted')
    throw new GatewayError(
      'workflow-exists',
      `The version ${version} of ${id} was deleted, and had other content; give the document another version. An admin can remove the tombstone of the deleted version.`,
    );
  if (added.stored.text !== text)
    throw new GatewayError(
      'workflow-exists',
      `The version ${version} of ${id} has other content, and a version never changes; give the document another version.`,
    );
  return added;
}

/**
 * A problem for each batch of the document whose workflow reaches a batch. What is not stored is not followed: a run refuses it
 * then.
 */
export async function nestedBatches(
  { find }: Pick<WorkflowStore, 'find'>,
  { workflows }: Pick<WorkflowCalls, 'workflows'>,
): Promise<readonly DocumentProblem[]> {
  const problems: DocumentProblem[] = [];
  for (const { pointer = '', line = 1, column = 1, ...site } of workflows.filter(({ batch }) => batch === true)) {
    const found = await batchWithin(find, site);
    if (found === undefined) continue;
    const way = found === nameOf(site) ? 'has' : `reaches ${found}, which has`;
    const detail = `runs ${nameOf(site)} for each item, and that ${way} a "call: batch" itself; run it in a task of its own`;
    problems.push({ pointer: `${pointer}/with/workflow`, detail, line, column });
  }
  return problems;
}

/** The first workflow with a batch that the site leads to. */
async function batchWithin(find: WorkflowStore['find'], site: RunSite): Promise<string | undefined> {
  const seen = new Set<string>();
  const open = [site];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const name = nameOf(next);
    if (seen.has(name)) continue;
    seen.add(name);
    const { id, version } = next;
    const found = await find({ id, version: version === 'latest' ? undefined : version });
    if (found?.workflows.some(({ batch }) => batch === true)) return name;
    open.push(...(found?.workflows ?? []));
  }
  return undefined;
}

function nameOf({ id, version }: RunSite): string {
  return `${id} ${version}`;
}
