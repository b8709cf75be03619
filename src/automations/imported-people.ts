import type { NamedPrincipal } from '#access/people.ts';
import type { Automation } from './automation.ts';
import { modifierName } from './automation-document.ts';
import { type AutomationPeople, noPeople, peopleAfterWrite } from './automation-people.ts';
import { ownedText } from './automation-row.ts';
import type { AutomationWriter } from './automation-store.ts';

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
        const known = stored.get(next._id);
        const current = known?.automation;
        const isSame = current !== undefined && comparable(current) === comparable(next);
        const people = isSame ? (known?.people ?? noPeople) : peopleOf({ current, next, importer, people: known?.people });
        const workflowId = next.data?.workflowId;
        const isUnconfirmed = workflowId !== undefined && !workflows.has(workflowId);
        judged.set(next._id, {
          people: isUnconfirmed ? { ...people, isUnconfirmed } : people,
          lastModifiedBy: isSame || importer === undefined ? current?.lastModifiedBy : modifierName(importer.username),
        });
      }
    },
    of: ({ _id }) => judged.get(_id)?.people ?? noPeople,
    modified({ lastModifiedBy: _, ...automation }) {
      const lastModifiedBy = judged.get(automation._id)?.lastModifiedBy;
      return { ...automation, ...(lastModifiedBy !== undefined && { lastModifiedBy }) };
    },
  };
}

interface Line {
  readonly current: Automation | undefined;
  readonly next: Automation;
  readonly importer: NamedPrincipal | undefined;
  readonly people: AutomationPeople | undefined;
}

function peopleOf({ current, next, importer, people = noPeople }: Line): AutomationPeople {
  if (importer === undefined) return noPeople;
  return { ...peopleAfterWrite({ people, current, next, by: importer }), isUnconfirmed: undefined };
}

/** What the line decides: all of the document but for the people. */
function comparable({ lastModifiedBy: _, ...automation }: Automation): string {
  const { lastRunAt, nextRunAt, data } = automation;
  return JSON.stringify([ownedText(automation), lastRunAt, nextRunAt, data?.scheduleFrom]);
}
