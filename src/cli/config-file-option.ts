import type { CommandOption } from './command.ts';

/** `--config FILE`, the same wherever a command works on one configuration. */
export const configFileOption: CommandOption = { value: 'FILE', default: 'gateway.yaml', meaning: 'the configuration' };
