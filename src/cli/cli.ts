import { hashPassword } from '#access/password-hash.ts';
import { packageVersion } from '#base/package-version.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { parseArguments } from './arguments.ts';
import type { Command, CommandContext } from './command.ts';
import { accessExplain } from './commands/access-explain.ts';
import { approvalGrant, approvalReject } from './commands/approval-decide.ts';
import { approvalList } from './commands/approval-list.ts';
import { approvalShow } from './commands/approval-show.ts';
import { auditList } from './commands/audit-list.ts';
import { auditVerify } from './commands/audit-verify.ts';
import { automationExport } from './commands/automation-export.ts';
import { automationImport } from './commands/automation-import.ts';
import { automationTake } from './commands/automation-take.ts';
import { configCheck } from './commands/config-check.ts';
import { configInit } from './commands/config-init.ts';
import { demoRun } from './commands/demo-run.ts';
import { gatewayServe } from './commands/gateway-serve.ts';
import { passwordHash } from './commands/password-hash.ts';
import { runCancel } from './commands/run-cancel.ts';
import { runList } from './commands/run-list.ts';
import { runShow } from './commands/run-show.ts';
import { runStart } from './commands/run-start.ts';
import { workflowCheck } from './commands/workflow-check.ts';
import { workflowTake } from './commands/workflow-take.ts';
import { commandHelp, program, programHelp, usage } from './help.ts';
import { OutputFailed, print } from './output.ts';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  gatewayServe,
  configInit,
  demoRun,
  configCheck,
  accessExplain,
  workflowCheck,
  passwordHash,
  automationImport,
  automationExport,
  automationTake,
  workflowTake,
  runStart,
  runList,
  runShow,
  runCancel,
  approvalList,
  approvalShow,
  approvalGrant,
  approvalReject,
  auditList,
  auditVerify,
];

const wrongUsage = 2;

interface CliOptions extends Omit<CommandContext, 'hashPassword'> {
  /** Without the executable and the script: `process.argv.slice(2)`. */
  readonly argv: readonly string[];
  /** Tests replace it. */
  readonly hashPassword?: CommandContext['hashPassword'];
}

/**
 * Runs the command that `argv` names. Resolves with the exit code: 0 success, 1 failure, 2 wrong usage. Never touches `process`.
 */
export async function runCli({ argv, ...rest }: CliOptions): Promise<number> {
  const context: CommandContext = { hashPassword, ...rest };
  // Without a listener, the `error` event of a stream that cannot be written would end the process with a stack trace.
  for (const stream of [context.stdout, context.stderr]) stream.on('error', () => {});
  try {
    return await run(context, argv);
  } catch (error) {
    if (!(error instanceof OutputFailed)) throw error;
    if (error.readerLeft) return 0;
    context.stderr.write(`${program}: ${error.message}\n`);
    return 1;
  }
}

async function run(context: CommandContext, argv: readonly string[]): Promise<number> {
  const { name, more } = namedCommand(argv);
  if (name === '--help' || name === '-h' || name === 'help' || name === '--version') return await about(context, name, more);
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    context.stderr.write(name === undefined ? programHelp(commands) : unknownCommand(name));
    return wrongUsage;
  }
  const parsed = parseArguments(command, more);
  if ('help' in parsed) {
    await print(context.stdout, commandHelp(command));
    return 0;
  }
  if ('fault' in parsed) {
    context.stderr.write(`${program} ${command.name}: ${parsed.fault}\n${usage(command)}\n`);
    return wrongUsage;
  }
  return command.run(context, parsed);
}

/** Prints the help or the version. */
async function about({ stdout, stderr }: CommandContext, name: string, [unwanted]: readonly string[]): Promise<number> {
  if (unwanted !== undefined) {
    stderr.write(`${program}: unexpected argument ${JSON.stringify(unwanted)} after ${name}\n`);
    return wrongUsage;
  }
  await print(stdout, name === '--version' ? `${await packageVersion()}\n` : programHelp(commands));
  return 0;
}

/** The first word, or the first two for a command of two words, such as "audit list". */
function namedCommand(argv: readonly string[]): { readonly name: string | undefined; readonly more: readonly string[] } {
  const [first, second = ''] = argv;
  const isGroup = commands.some(({ name }) => name.startsWith(`${first} `));
  if (isGroup && (second === '--help' || second === '-h')) return { name: second, more: [] };
  if (!isGroup || second === '' || second.startsWith('-')) return { name: first, more: argv.slice(1) };
  return { name: `${first} ${second}`, more: argv.slice(2) };
}

function unknownCommand(name: string): string {
  const names = commands.map((command) => command.name);
  const group = names.filter((known) => known.startsWith(`${name} `));
  if (group.length > 0) return `${program}: ${name} is the first word of several commands: ${group.join(', ')}\n`;
  const what = name.startsWith('-') ? 'option' : 'command';
  return `${program}: unknown ${what} ${JSON.stringify(name)}${didYouMean(name, names)}\nCommands: ${names.join(', ')}\n`;
}
