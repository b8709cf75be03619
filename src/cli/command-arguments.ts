import { parseArgs } from 'node:util';
import { didYouMean } from '#yaml/wording.ts';
import type { Command, GivenArguments } from './command.ts';

/** The arguments of a command, a request for its help, or a fault that says what is wrong with them. */
type ParsedArguments = GivenArguments | { readonly help: true } | { readonly fault: string };

/**
 * Parses `argv` (without the name of the command) by the options and operands of the command. `--help` takes precedence over
 * every fault.
 */
export function parseArguments(command: Command, argv: readonly string[]): ParsedArguments {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    // Not strict: the messages below name the known options and suggest the nearest one.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: {
      ...Object.fromEntries(Object.keys(command.options).map((name) => [name, { type: 'string' as const }])),
      ...Object.fromEntries(Object.keys(command.flags ?? {}).map((name) => [name, { type: 'boolean' as const }])),
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values['help'] === true) return { help: true };
  const given = tokens.filter((token) => token.kind === 'option');
  const fault = given
    .map((token, index) => optionFault(command, token) ?? repetition(token, given.slice(0, index)))
    .find((found) => found !== undefined);
  if (fault !== undefined) return { fault };
  const { operands, bareOption } = command;
  const misplaced = positionalFault(command, positionals, values) ?? missingOption(command, values);
  if (misplaced !== undefined) return { fault: misplaced };
  const bare = positionals[operands.length];
  return {
    option: (name) => String(values[name] ?? (name === bareOption ? bare : undefined) ?? command.options[name]?.default ?? ''),
    flag: (name) => values[name] === true,
    operand: (name) => positionals[operands.indexOf(name)] ?? '',
    operands: (name) => positionals.slice(operands.indexOf(name)),
  };
}

function positionalFault(
  { operands, bareOption, options }: Command,
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  const required = operands.filter((name) => !name.startsWith('['));
  if (positionals.length < required.length) return `${required[positionals.length]} is missing`;
  // The last operand may come several times.
  if (operands.at(-1)?.includes('…') === true) return undefined;
  const [bare, ...more] = positionals.slice(operands.length);
  const unexpected = bareOption === undefined ? bare : more[0];
  if (unexpected !== undefined) return `unexpected argument ${JSON.stringify(unexpected)}`;
  if (bareOption === undefined || bare === undefined) return undefined;
  return bareFault(bare, { option: bareOption, value: options[bareOption]?.value, isGiven: values[bareOption] !== undefined });
}

/** An option may be given without its name, but not in both ways. */
function bareFault(
  bare: string,
  { option, value, isGiven }: { readonly option: string; readonly value: string | undefined; readonly isGiven: boolean },
): string | undefined {
  if (bare === '') return `${value} is empty`;
  return isGiven ? `${JSON.stringify(bare)} and --${option} name the same thing; keep one of the two` : undefined;
}

function missingOption({ options }: Command, values: Readonly<Record<string, unknown>>): string | undefined {
  const missing = Object.keys(options).find((name) => options[name]?.isRequired === true && values[name] === undefined);
  return missing === undefined ? undefined : `--${missing} is required`;
}

function isSwitch({ flags = {} }: Command, name: string): boolean {
  return name === 'help' || Object.hasOwn(flags, name);
}

/** `--help` without a value never gets here: it is handled before all faults. */
function switchFault({ name, rawName, value }: OptionToken): string | undefined {
  return name !== 'help' && value === undefined ? undefined : `${rawName} takes no value`;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function optionFault(command: Command, token: OptionToken): string | undefined {
  const { name, rawName, value } = token;
  if (isSwitch(command, name)) return switchFault(token);
  const known = Object.hasOwn(command.options, name) ? command.options[name] : undefined;
  if (known === undefined) {
    return `unknown option ${rawName}${didYouMean(
      rawName,
      [...Object.keys(command.options), ...Object.keys(command.flags ?? {}), 'help'].map((option) => `--${option}`),
    )}`;
  }
  if (value === undefined || value === '' || isOptionAgain(token)) {
    return `${rawName} needs a value: ${rawName} ${known.value}`;
  }
  if (known.values?.includes(value) === false) return `${rawName} is none of ${known.values.join(', ')}`;
  return undefined;
}

/** `--config --follow`. `-` alone is a value: standard input. */
function isOptionAgain({ value, inlineValue }: OptionToken): boolean {
  return inlineValue !== true && value !== '-' && value?.startsWith('-') === true;
}

function repetition({ name, rawName }: OptionToken, earlier: readonly OptionToken[]): string | undefined {
  return earlier.some((other) => other.name === name) ? `${rawName} is given twice` : undefined;
}
