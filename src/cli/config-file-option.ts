import type { CommandOption } from './command.ts';

/** `--config FILE`, the same for all commands that use a configuration. */
export const configFileOption: CommandOption = { value: 'FILE', default: 'gateway.yaml', meaning: 'the configuration' };
