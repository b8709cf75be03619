import type { NamedPrincipal } from '#access/people.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { Log } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import { settleStorers, type UnsettledVersion, unsettledVersions } from '#workflows/workflow-storer-store.ts';
import { recordedPrincipal, recordSlack } from './earlier-writes.ts';

interface FindStorersOptions {
  readonly database: Pick<Database, 'query' | 'read'>;
  readonly auditReader: Pick<AuditReader, 'list'>;
  readonly log: Log;
}

/**
 * Earlier gateways kept the name of who stored a version, and a name alone makes no principal answer. The audit log has the principal. Of a
 * version without such a record nothing runs until somebody takes it; the log names it.
 */
export async function findStorers({ database, auditReader, log }: FindStorersOptions): Promise<void> {
  for (;;) {
    const versions = await unsettledVersions(database);
    if (versions.length === 0) return;
    for (const version of versions) {
      const storer = await storerOf(version, auditReader);
      if (storer === undefined)
        log.warn('the audit log does not have who stored a workflow; nothing of it runs until somebody takes it', {
          workflow: `${version.id} ${version.version}`,
        });
      await settleStorers(database, version, storer === undefined ? [] : [{ ...storer, lends: true }]);
    }
  }
}

/** Only the record of the storing itself counts: the same bytes could be sent again by others, with the same reply. */
async function storerOf(
  { id, version, createdAt, createdBy }: UnsettledVersion,
  auditReader: Pick<AuditReader, 'list'>,
): Promise<NamedPrincipal | undefined> {
  const range = { from: createdAt - recordSlack, to: createdAt + recordSlack, principal: createdBy, limit: 1_000 };
  const { list } = await auditReader.list(range, 'oldest');
  const record = list.find(
    ({ route, status, workflow }) =>
      route === 'POST /automation_catalog/workflows' && status === 201 && workflow?._id === id && workflow.version === version,
  );
  return record && recordedPrincipal(record);
}
