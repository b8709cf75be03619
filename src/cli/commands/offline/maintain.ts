import { GatewayError } from '#base/gateway-error.ts';
import { loadStoredConfig, type StoredConfig } from '#config/load-config.ts';
import type { CommandContext, Maintenance } from '../../command.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { program } from '../../texts/help.ts';

/** Runs `work` on the configured store. Resolves with the exit code; standard error has the failure. */
export async function maintain(
  { context, file, command }: { readonly context: CommandContext; readonly file: string; readonly command: string },
  work: (maintenance: Maintenance, config: StoredConfig) => Promise<void>,
): Promise<number> {
  const loaded = await loadOrReport({ context, file, command, load: loadStoredConfig });
  if (loaded === undefined) return 1;
  try {
    await work(await context.maintenance(), loaded.config);
    return 0;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    context.stderr.write(`${program} ${command}: ${error.message}\n`);
    return 1;
  }
}
