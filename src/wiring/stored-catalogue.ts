import { importPortions } from '#automations/automation-import.ts';
import { createAutomationStore } from '#automations/automation-store.ts';
import { noLog } from '#base/log.ts';
import type { StoredCatalogue } from '#cli/command.ts';
import type { StoredConfig } from '#config/stored-config.ts';
import { openDatabase } from '#database/database.ts';

/** Opens the catalogue in the configured store until `work` has ended. A gateway may use the same store at the same time. */
export async function withStoredCatalogue<T>(
  { store }: StoredConfig,
  use: 'read' | 'write',
  work: (catalogue: StoredCatalogue) => Promise<T>,
): Promise<T> {
  // noLog: the command itself reports a failure, and a log line would repeat it.
  const database = await openDatabase({ store, log: noLog, ...(use === 'read' && { asItIs: true }) });
  try {
    const automations = createAutomationStore(database);
    return await work({
      import: (source, options) => importPortions({ store: automations, source, ...options }),
      export: () => automations.export(),
    });
  } finally {
    await database.close();
  }
}
