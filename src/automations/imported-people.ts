import type { NamedPrincipal } from '#access/people.ts';
import type { Automation } from './automation.ts';
import { modifierName } from './automation-document.ts';
import { type AutomationPeople, noPeople, peopleAfterWrite } from './automation-people.ts';
import { ownedText } from './automation-row.ts';
import type { AutomationWriter, StoredAutomation } from './automation-store.ts';

/** Who answers for the documents of an import, and who changed them last. Their lines do not say it. */
interface ImportedPeople {
  /** Call it for all documents before the stored ones are removed. */
  judge(batch: readonly Automation[]): Promise<void>;
  of(automation: Automation): AutomationPeople;
  /** The document with its `lastModifiedBy`. */
  modified(automation: Automation): Automation;
}

interface Judged {
  readonly people: AutomationPeople;
  readonly lastModifiedBy: string | undefined;
}

export function createImportedPeople(writer: AutomationWriter, importer: NamedPrincipal | undefined): ImportedPeople {
  const judged = new Map<string, Judged>();
  return {
    async judge(batch) {
      const stored = await writer.readAll(batch.map(({ _id }) => _id));
      const workflows = await writer.workflowsAmong(batch.flatMap(({ data }) => data?.workflowId ?? []));
      for (const next of batch) {
        const workflowId = next.data?.workflowId;
        const line = judgeLine(next, stored.get(next._id), importer);
        const isUnconfirmed = workflowId !== undefined && !workflows.has(workflowId);
        judged.set(next._id, isUnconfirmed ? { ...line, people: { ...line.people, isUnconfirmed } } : line);
      }
    },
    of: ({ _id }) => judged.get(_id)?.people ?? noPeople,
    modified({ lastModifiedBy: _by, ...automation }) {
      const lastModifiedBy = judged.get(automation._id)?.lastModifiedBy;
      return { ...automation, ...(lastModifiedBy !== undefined && { lastModifiedBy }) };
    },
  };
}

/** A line that changes nothing keeps the people. */
function judgeLine(next: Automation, stored: StoredAutomation | undefined, importer: NamedPrincipal | undefined): Judged {
  const current = stored?.automation;
  const people = stored?.people ?? noPeople;
  const lastModifiedBy = current?.lastModifiedBy;
  if (current !== undefined && comparable(current) === comparable(next)) return { people, lastModifiedBy };
  if (importer === undefined) return { people: noPeople, lastModifiedBy };
  const written = peopleAfterWrite({ people, current, next, by: importer });
  return { people: { ...written, isUnconfirmed: undefined }, lastModifiedBy: modifierName(importer.username) };
}

/** What the line decides: all of the document but for the people. */
function comparable({ lastModifiedBy: _by, ...automation }: Automation): string {
  const { lastRunAt, nextRunAt, data } = automation;
  return JSON.stringify([ownedText(automation), lastRunAt, nextRunAt, data?.scheduleFrom]);
}
