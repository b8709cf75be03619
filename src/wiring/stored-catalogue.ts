import { importAutomations } from '#automations/automation-import.ts';
import { createAutomationStore } from '#automations/automation-store.ts';
import { noLog } from '#base/log.ts';
import type { StoredCatalogue } from '#cli/command.ts';
import type { Config } from '#config/config.ts';
import { openDatabase } from '#database/database.ts';

/** Opens the catalogue on the configured store, beside any gateway that runs on it, for as long as `work` takes. */
export async function withStoredCatalogue<T>(
  { store }: Config,
  use: 'read' | 'write',
  work: (catalogue: StoredCatalogue) => Promise<T>,
): Promise<T> {
  // The command itself says what is wrong; a log line beside it would only repeat it.
  const database = await openDatabase({ store, part: 'main', log: noLog, ...(use === 'read' && { asItIs: true }) });
  try {
    const automations = createAutomationStore(database);
    return await work({
      import: (source, options) => importAutomations({ store: automations, source, ...options }),
      export: () => automations.export(),
    });
  } finally {
    await database.close();
  }
}
