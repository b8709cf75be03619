import type { Command } from '../command.ts';

export const program = 'orchestration-gateway';

/** The help of one command, with a final newline. */
export function commandHelp(command: Command): string {
  const options = Object.entries(command.options).map(([name, { value, meaning, default: standard }]) => ({
    left: name === command.bareOption ? `${value}, --${name} ${value}` : `--${name} ${value}`,
    right: standard === undefined ? meaning : `${meaning} (default: ${standard})`,
  }));
  const flags = Object.entries(command.flags ?? {}).map(([name, meaning]) => ({ left: `--${name}`, right: meaning }));
  return [
    usage(command),
    '',
    ...command.description,
    '',
    'Options:',
    ...columns([...options, ...flags, { left: '--help, -h', right: 'show this help' }]),
    '',
  ].join('\n');
}

/** The usage line of a command. */
export function usage({ name, options, flags = {}, operands, bareOption }: Command): string {
  const optional = Object.entries(options).map(([option, { value, isRequired }]) => {
    if (isRequired === true) return `--${option} ${value}`;
    return option === bareOption ? `[${value} | --${option} ${value}]` : `[--${option} ${value}]`;
  });
  const switches = Object.keys(flags).map((flag) => `[--${flag}]`);
  return ['Usage:', program, name, ...optional, ...switches, ...operands].join(' ');
}

/** The help of the program, with a final newline. */
export function programHelp(commands: readonly Command[]): string {
  return [
    `Usage: ${program} COMMAND`,
    '',
    'An HTTP gateway that relays REST calls, orchestrator actions and orchestrator queries.',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => ({ left: name, right: summary }))),
    '',
    `"${program} COMMAND --help" explains a command, "${program} --version" prints the version.`,
    'Exit codes: 0 success, 1 failure, 2 wrong usage.',
    '',
  ].join('\n');
}

function columns(rows: readonly { readonly left: string; readonly right: string }[]): readonly string[] {
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`);
}
