import type { AuditReader } from '#audit/audit-reader.ts';
import { hasUnsettledAutomations, settleAutomations } from '#automations/earlier-people-store.ts';
import type { Log } from '#base/log.ts';
import { visible } from '#base/visible.ts';
import type { Database } from '#database/database.ts';
import { settleForm, unsettledForms } from '#forms/form-store.ts';
import { readEarlierWrites } from './earlier-writes.ts';

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
