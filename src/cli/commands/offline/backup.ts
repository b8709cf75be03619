import { resolve } from 'node:path';
import type { Command } from '../../command.ts';
import { configFileOption } from '../../config-file-option.ts';
import { print } from '../../output.ts';
import { maintain } from './maintain.ts';

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
