import type { NamedPrincipal } from '#access/people.ts';
import { idOfIssuer } from '#access/principal.ts';
import { type AuditQuery, readCursor } from '#audit/audit-query.ts';
import type { AuditReader, AuditRecord } from '#audit/audit-reader.ts';
import type { Automation } from '#automations/automation.ts';
import type { ListedForm } from '#forms/form-catalogue.ts';

/** Who wrote what an earlier gateway stored, as far as the audit log proves it. */
interface EarlierWrites {
  /** Everyone who wrote the automation since it was created, the last one first. Empty: another person may have written it as well. */
  writersOf(automation: Automation): readonly NamedPrincipal[];
  formWriterOf(form: ListedForm): NamedPrincipal | undefined;
}

/** Milliseconds between a write and its record, by clocks of two gateways. */
export const recordSlack = 60_000;

/** The writes of an automation, from its creation on. */
interface Written {
  readonly writers: NamedPrincipal[];
  readonly times: number[];
}

/** Reads all of the log. */
export async function readEarlierWrites(auditReader: Pick<AuditReader, 'list'>): Promise<EarlierWrites> {
  const automations = new Map<string, Written>();
  const forms = new Map<string, { readonly writer: NamedPrincipal; readonly time: number }>();
  for await (const record of recordsOf(auditReader)) {
    const { route, automation, form } = record;
    const time = Date.parse(record.time);
    if (record.event === 'dropped') forms.clear();
    // An earlier record of an import names no documents, and each one that existed may be its work.
    if (record.event === 'dropped' || mayHaveImported(record)) automations.clear();
    if (automation !== undefined) noteAutomation(automations, automation._id, record);
    if (form !== undefined && route === 'DELETE /automation_catalog/forms/:id') forms.delete(form._id);
    if (form !== undefined && route === 'PUT /automation_catalog/forms/:id')
      forms.set(form._id, { writer: recordedPrincipal(record), time });
  }
  return {
    writersOf({ _id, data }) {
      const { writers, times } = automations.get(_id) ?? { writers: [], times: [] };
      const changed = Date.parse(data?.lastUpdated ?? '');
      return times.some((time) => Math.abs(time - changed) <= recordSlack) ? writers.toReversed() : [];
    },
    formWriterOf({ id, lastUpdated, lastModifiedBy }) {
      const { writer, time = -Infinity } = forms.get(id) ?? {};
      return writer?.username === lastModifiedBy && Math.abs(time - lastUpdated) <= recordSlack ? writer : undefined;
    },
  };
}

/** What has the `_id` of a deleted automation again came by an import, which no record here names. */
function noteAutomation(automations: Map<string, Written>, id: string, record: AuditRecord): void {
  const { route } = record;
  if (route === 'DELETE /automation_catalog/automations/:id') automations.delete(id);
  if (route === 'POST /automation_catalog/automations') automations.set(id, { writers: [], times: [] });
  const written = automations.get(id);
  if (written === undefined || !writes.has(route ?? '')) return;
  const by = recordedPrincipal(record);
  const others = written.writers.filter((writer) => writer.id !== by.id);
  written.writers.splice(0, Infinity, ...others, by);
  written.times.push(Date.parse(record.time));
}

const writes: ReadonlySet<string> = new Set([
  'POST /automation_catalog/automations',
  'PUT /automation_catalog/automations/:id',
  'PATCH /automation_catalog/automations/:id',
]);

/** A refused import changed nothing. */
function mayHaveImported({ route, status = 200 }: AuditRecord): boolean {
  return route === 'POST /automation_catalog/import' && (status < 400 || status >= 500);
}

async function* recordsOf(auditReader: Pick<AuditReader, 'list'>): AsyncGenerator<AuditRecord, void, undefined> {
  for (let query: AuditQuery | undefined = { limit: 1_000 }; query !== undefined; ) {
    const { list, cursor }: Awaited<ReturnType<AuditReader['list']>> = await auditReader.list(query, 'oldest');
    yield* list;
    const after = cursor === undefined ? undefined : readCursor(cursor);
    query = after && { ...query, after };
  }
}

/** By the id, which people of issuers have on record, and never by a name that is displayed. */
export function recordedPrincipal({ principal: username = '', issuer, subject }: AuditRecord): NamedPrincipal {
  return { id: issuer === undefined || subject === undefined ? username : idOfIssuer(issuer, subject), username };
}
