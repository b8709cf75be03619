import { resolve } from 'node:path';
import { GatewayError } from '#base/gateway-error.ts';
import { loadStoredConfig, type StoredConfig } from '#config/load-config.ts';
import type { Command, CommandContext, Maintenance } from '../../command.ts';
import { configFileArgument, configFileOption } from '../../config-file-option.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { print } from '../../output.ts';
import { program } from '../../texts/help.ts';

export const backupCommand: Command = {
  name: 'backup',
  summary: 'write a SQLite store into one file, while a gateway runs',
  description: [
    'Write the SQLite store of the configuration, and the key of approvals next to it, into one new file',
    'that only you can read. It holds one moment of the whole store. A gateway may use the store at the',
    'same time. The configuration and its secrets are not part of it.',
    'For PostgreSQL use pg_dump, and mark-restored after pg_restore.',
  ],
  options: { config: configFileOption },
  operands: ['FILE'],
  async run(context, { option, operand }) {
    const file = operand('FILE');
    return await maintain({ context, file: option('config'), command: 'backup' }, async (maintenance, config) => {
      const { size } = await maintenance.backUp(config, resolve(context.cwd, file));
      await print(context.stdout, `${file}: ${(size / 1024 ** 2).toFixed(1)} MiB\n`);
    });
  },
};

export const restoreCommand: Command = {
  name: 'restore',
  summary: 'make a SQLite store from a backup',
  description: [
    'Make the SQLite store of the configuration from a file of the command backup. A store that exists is',
    'never overwritten. What came after the backup is lost: so the next gateway ends every open approval,',
    'and holds the runs that were under way until "runs release". The orchestrator may have done more than',
    'the store knows.',
  ],
  options: { config: configFileOption },
  operands: ['FILE'],
  async run(context, { option, operand }) {
    return await maintain({ context, file: option('config'), command: 'restore' }, async (maintenance, config) => {
      const { version, madeAt } = await maintenance.restore(config, resolve(context.cwd, operand('FILE')));
      await print(
        context.stdout,
        `The store of ${new Date(madeAt).toISOString()}, written by version ${version}, is restored.\nStart the gateway, look at the runs that were under way, then: ${context.invocation} runs release --reason R\n`,
      );
    });
  },
};

export const markCommand: Command = {
  name: 'mark-restored',
  summary: 'say that a PostgreSQL store was restored from a backup',
  description: [
    'Mark the PostgreSQL store of the configuration as restored, after pg_restore and before a gateway',
    'starts on it. As after the command restore, the next gateway ends every open approval, and holds the',
    'runs that were under way until "runs release".',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    return await maintain({ context, file: option('config'), command: 'mark-restored' }, async (maintenance, config) => {
      await maintenance.markRestored(config);
      await print(context.stdout, 'The store is marked as restored. Start the gateway now.\n');
    });
  },
};

/** Runs `work` on the configured store. Resolves with the exit code; standard error has the failure. */
async function maintain(
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
