import type { NamedPrincipal } from '#access/people.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import { hasUnsettledAutomations, settleAutomations } from '#automations/store/automation-person-store.ts';
import type { Log } from '#base/log.ts';
import { visible } from '#base/text/visible.ts';
import type { Database } from '#database/database.ts';
import { settleForm, unsettledForms } from '#forms/form-store.ts';
import { settleStorers, type UnsettledVersion, unsettledVersions } from '#workflows/catalogue/workflow-store.ts';
import { readEarlierWrites, recordedPrincipal, recordSlack } from './earlier-writes.ts';

/**
 * Finds, once, the authors of automations and the writers of forms that an earlier gateway stored, which kept names alone. The log names each one
 * of which the audit log does not prove them.
 */
export async function findAuthors({
  database,
  auditReader,
  log,
}: {
  readonly database: Pick<Database, 'exclusively' | 'query' | 'read'>;
  readonly auditReader: Pick<AuditReader, 'list'>;
  readonly log: Log;
}): Promise<void> {
  const forms = await unsettledForms(database);
  if (forms.length === 0 && !(await hasUnsettledAutomations(database))) return;
  const writes = await readEarlierWrites(auditReader);
  for (const form of forms) {
    const writer = writes.formWriterOf(form);
    if (writer === undefined)
      log.warn('the audit log does not have who wrote a form; who writes it again is its writer', { path: form.id });
    await settleForm(database, form, writer);
  }
  for (;;) {
    const settled = await settleAutomations(database, (automation) => writes.writersOf(automation));
    if (settled.length === 0) return;
    for (const { name, unknown } of settled) if (unknown !== undefined) log.warn(messages[unknown], { path: visible(name) });
  }
}

const messages = {
  authors: 'no person is known to answer for an automation; its schedule is paused until a person takes it',
  scheduler: 'no person is known to have scheduled an automation; its due times are skipped until a person takes or schedules it',
};

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
