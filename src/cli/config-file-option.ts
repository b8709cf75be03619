import type { Command, CommandOption } from './command.ts';

/** `--config FILE`, the same for all commands that use a configuration. */
export const configFileOption: CommandOption = { value: 'FILE', default: 'gateway.yaml', meaning: 'the configuration' };

/** For commands whose only file is the configuration: `FILE` alone means the same as `--config FILE`. */
export const configFileArgument = {
  options: { config: configFileOption },
  operands: [],
  bareOption: 'config',
} as const satisfies Partial<Command>;
