import type { NamedPrincipal } from '#access/people.ts';
import type { Automation } from './automation.ts';
import { modifierName } from './automation-document.ts';
import { type AutomationPeople, keptSkip, noPeople, peopleAfterWrite } from './automation-people.ts';
import { ownedText } from './automation-row.ts';
import type { AutomationWriter, StoredAutomation } from './automation-store.ts';
import type { LastSkip } from './last-skip.ts';

/** Who answers for the documents of an import, and who changed them last. Their lines do not say it. */
interface ImportedPeople {
  /** Call it for all documents before the stored ones are removed. */
  judge(batch: readonly Automation[]): Promise<void>;
  of(automation: Automation): AutomationPeople;
  /** The document with its `lastModifiedBy` and `lastSkip`. */
  modified(automation: Automation): Automation;
}

interface Judged {
  readonly people: AutomationPeople;
  readonly lastModifiedBy: string | undefined;
  readonly lastSkip: LastSkip | undefined;
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
      const { lastModifiedBy, lastSkip } = judged.get(automation._id) ?? {};
      return { ...automation, lastSkip, ...(lastModifiedBy !== undefined && { lastModifiedBy }) };
    },
  };
}

/** A line that changes nothing keeps the people. */
function judgeLine(next: Automation, stored: StoredAutomation | undefined, importer: NamedPrincipal | undefined): Judged {
  const current = stored?.automation;
  const people = stored?.people ?? noPeople;
  const kept = { lastModifiedBy: current?.lastModifiedBy, lastSkip: keptSkip(current, next) };
  if (current !== undefined && comparable(current) === comparable(next)) return { people, ...kept };
  if (importer === undefined) return { people: noPeople, ...kept };
  const written = peopleAfterWrite({ people, current, next, by: importer });
  const lastModifiedBy = modifierName(importer.username);
  return { ...kept, people: { ...written, isUnconfirmed: undefined }, lastModifiedBy };
}

/** What the line decides: all of the document but for the people. */
function comparable({ lastModifiedBy: _by, ...automation }: Automation): string {
  const { lastRunAt, nextRunAt, data } = automation;
  return JSON.stringify([ownedText(automation), lastRunAt, nextRunAt, data?.scheduleFrom]);
}
