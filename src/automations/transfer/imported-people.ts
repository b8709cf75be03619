import type { NamedPrincipal } from '#access/people.ts';
import type { Automation, LastSkip } from '../automation.ts';
import { modifierName } from '../automation-document.ts';
import { type AutomationPeople, keptSkip, noPeople, peopleAfterWrite } from '../automation-people.ts';
import { ownedText } from '../store/automation-row.ts';
import type { AutomationWriter, StoredAutomation } from '../store/automation-store.ts';

interface JudgedLine {
  readonly people: AutomationPeople;
  readonly lastModifiedBy: string | undefined;
  readonly lastSkip: LastSkip | undefined;
  /** False: the store has the same document. */
  readonly isChanged: boolean;
}

/** Who answers for the documents of an import, and who changed them last. Their lines do not say it. */
export function createImportedPeople(writer: AutomationWriter, importer: NamedPrincipal) {
  const judged = new Map<string, JudgedLine>();
  return {
    /** Call it for all documents before the stored ones are removed. */
    async judge(batch: readonly Automation[]): Promise<void> {
      const stored = await writer.readAll(batch.map(({ _id }) => _id));
      const workflows = await writer.workflowsAmong(batch.flatMap(({ data }) => data?.workflowId ?? []));
      for (const next of batch) {
        const workflowId = next.data?.workflowId;
        const line = judgeLine(next, stored.get(next._id), importer);
        const isUnconfirmed = workflowId !== undefined && !workflows.has(workflowId);
        judged.set(next._id, isUnconfirmed ? { ...line, people: { ...line.people, isUnconfirmed } } : line);
      }
    },
    of: ({ _id }: Automation): AutomationPeople => judged.get(_id)?.people ?? noPeople,
    isChanged: ({ _id }: Automation): boolean => judged.get(_id)?.isChanged ?? true,
    withModifier({ lastModifiedBy: _by, ...automation }: Automation): Automation {
      const { lastModifiedBy, lastSkip } = judged.get(automation._id) ?? {};
      return { ...automation, lastSkip, ...(lastModifiedBy !== undefined && { lastModifiedBy }) };
    },
  };
}

/** A line that changes nothing keeps the people. */
function judgeLine(next: Automation, stored: StoredAutomation | undefined, importer: NamedPrincipal): JudgedLine {
  const { automation: current, people = noPeople } = stored ?? {};
  const isChanged = current === undefined || comparable(current) !== comparable(next);
  const kept = { lastModifiedBy: current?.lastModifiedBy, lastSkip: keptSkip(current, next), isChanged };
  if (!isChanged) return { people, ...kept };
  const written = peopleAfterWrite({ people, current, next, by: importer });
  return { ...kept, people: { ...written, isUnconfirmed: undefined }, lastModifiedBy: modifierName(importer.username) };
}

/** All but the people. */
function comparable({ lastModifiedBy: _by, ...automation }: Automation): string {
  const { lastRunAt, nextRunAt, data } = automation;
  return JSON.stringify([ownedText(automation), lastRunAt, nextRunAt, data?.scheduleFrom]);
}
