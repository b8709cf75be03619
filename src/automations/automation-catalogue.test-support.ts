import { noRights, testAdmin } from '#access/rights/rights.test-support.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { type AutomationCatalogue, createAutomationCatalogue } from './automation-catalogue.ts';

/** A catalogue without delegation, custom roles and authors who are asked. */
export function catalogueOn(database: Database, clock: Clock = systemClock): AutomationCatalogue {
  return createAutomationCatalogue({
    database,
    clock,
    rights: noRights,
    whyNotWriter: () => Promise.resolve(undefined),
    refuseAuthor: () => Promise.resolve(),
    asksAuthors: () => false,
  });
}

/** Imports documents, one a line. */
export async function importLines(catalogue: AutomationCatalogue, lines: string): Promise<void> {
  await catalogue.import({
    principal: testAdmin,
    source: (async function* () {
      yield Buffer.from(lines);
    })(),
  });
}
