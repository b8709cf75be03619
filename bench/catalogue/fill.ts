import type { AutomationStore } from '../../src/automations/store/automation-store.ts';
import { importAutomations } from '../../src/automations/transfer/import-automations.ts';
import { systemClock } from '../../src/base/clock.ts';
import { documentOf, type GroupLists } from './documents.ts';
import { type Cost, costOf } from './measure.ts';

/** Documents of one import: as many as a request takes. */
export const importedAtOnce = 20_000;

interface FillOptions {
  readonly documents: number;
  readonly lists: GroupLists;
  readonly interruption: AbortSignal;
  readonly onImported: (documents: number) => void;
}

/** Fills an empty store with NDJSON, 20,000 documents an import. Resolves with the cost of each import. */
export async function fill(store: AutomationStore, { documents, lists, onImported }: FillOptions): Promise<readonly Cost[]> {
  const costs: Cost[] = [];
  for (let first = 0; first < documents; first += importedAtOnce) {
    const behind = Math.min(documents, first + importedAtOnce);
    const { cost } = await costOf(() =>
      importAutomations({
        store,
        clock: systemClock,
        source: linesOf({ first, behind, lists }),
        importer: { id: 'bench', username: 'bench' },
      }),
    );
    costs.push(cost);
    onImported(behind);
  }
  return costs;
}

const linesAtOnce = 100;

async function* linesOf(part: {
  readonly first: number;
  readonly behind: number;
  readonly lists: GroupLists;
}): AsyncGenerator<Buffer> {
  for (let start = part.first; start < part.behind; start += linesAtOnce) {
    const count = Math.min(linesAtOnce, part.behind - start);
    yield Buffer.from(
      Array.from({ length: count }, (_, index) => `${JSON.stringify(documentOf(start + index, part.lists))}\n`).join(''),
    );
  }
}
