import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { isPrerelease } from './version-key.ts';
import { storedBytes, storedText, versionColumns, versionOf, type WorkflowVersion } from './workflow-row.ts';

/**
 * `ID VERSION` of a stored workflow that runs one of the versions that are to be deleted. Those themselves do not count. Undefined where there is
 * none. `latest` names the last release that is left.
 */
export async function nameOfNamer(
  transaction: Transaction<Tables>,
  id: string,
  deleted: readonly WorkflowVersion[],
): Promise<string | undefined> {
  const versions = new Set(deleted.map(({ version }) => version));
  const named = new Set(versions);
  const isLast = deleted.some(({ version }) => !isPrerelease(version)) && !(await keepsRelease(transaction, id, versions));
  if (isLast) named.add('latest');
  const rows = await transaction
    .selectFrom('workflow')
    .select(versionColumns)
    // Ids have no character that is special here. What is found is read exactly below.
    .where('facts', 'like', `%"id":${JSON.stringify(id)},"version":%`)
    .execute();
  for (const each of rows.map(versionOf)) {
    if (each.id === id && versions.has(each.version)) continue;
    if (each.workflows.some((run) => run.id === id && named.has(run.version))) return `${each.id} ${each.version}`;
  }
  return undefined;
}

async function keepsRelease(transaction: Transaction<Tables>, id: string, deleted: ReadonlySet<string>): Promise<boolean> {
  const rows = await transaction.selectFrom('workflow').select('version').where('id', '=', storedBytes(id)).execute();
  return rows.map(({ version }) => storedText(version)).some((version) => !deleted.has(version) && !isPrerelease(version));
}
