import type { DocumentProblem } from '#yaml/document-reading.ts';
import type { RunSite } from '../call-operations.ts';
import type { WorkflowCalls } from './workflow-row.ts';
import type { WorkflowStore } from './workflow-store.ts';

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
