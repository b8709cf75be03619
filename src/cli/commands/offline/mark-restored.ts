import type { Command } from '../../command.ts';
import { configFileArgument } from '../../config-file-option.ts';
import { print } from '../../output.ts';
import { maintain } from './maintain.ts';

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
