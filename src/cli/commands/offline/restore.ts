import { resolve } from 'node:path';
import type { Command } from '../../command.ts';
import { configFileOption } from '../../config-file-option.ts';
import { print } from '../../output.ts';
import { maintain } from './maintain.ts';

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
