import { hashPassword } from '#access/passwords/password-hash.ts';
import { packageVersion } from '#base/package-version.ts';
import { didYouMean } from '#yaml/wording.ts';
import type { Command, CommandContext } from './command.ts';
import { parseArguments } from './command-arguments.ts';
import { accessExplain } from './commands/catalogue/access-explain.ts';
import {
  automationCreate,
  automationDelete,
  automationPause,
  automationResume,
  automationSet,
  automationTake,
} from './commands/catalogue/change-automations.ts';
import { formDelete, formList, formPut, formShow } from './commands/catalogue/form-commands.ts';
import { automationList, automationShow } from './commands/catalogue/read-automations.ts';
import { catalogueExport, catalogueImport } from './commands/catalogue/transfer-catalogue.ts';
import { auditVerify } from './commands/offline/audit-verify.ts';
import { backupCommand, markCommand, restoreCommand } from './commands/offline/backup-commands.ts';
import { configCheck, configInit, passwordHash } from './commands/offline/config-commands.ts';
import { doctor } from './commands/offline/doctor.ts';
import { mcpConfig } from './commands/offline/mcp-config.ts';
import { demoRun, gatewayServe, healthCheck } from './commands/offline/serve-commands.ts';
import { shellCompletion } from './commands/offline/shell-completion.ts';
import { workflowCheck } from './commands/offline/workflow-check.ts';
import { approvalGrant, approvalList, approvalReject, approvalShow } from './commands/records/approval-commands.ts';
import { auditList, auditShow } from './commands/records/audit-commands.ts';
import { statisticsList } from './commands/records/statistics-list.ts';
import { runItems, runList } from './commands/runs/list-runs.ts';
import { runShow } from './commands/runs/run-show.ts';
import { runRerun, runStart } from './commands/runs/start-runs.ts';
import { runCancel, runDecide, runRelease, runResume, runSuspend } from './commands/runs/steer-runs.ts';
import { workflowDelete, workflowPut, workflowTake } from './commands/workflows/change-workflows.ts';
import { workflowDiff, workflowList, workflowShow } from './commands/workflows/read-workflows.ts';
import { workflowTry } from './commands/workflows/workflow-try.ts';
import { OutputFailed, print } from './output.ts';
import { commandHelp, program, programHelp, usage } from './texts/help.ts';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  gatewayServe,
  configInit,
  demoRun,
  configCheck,
  doctor,
  healthCheck,
  backupCommand,
  restoreCommand,
  markCommand,
  workflowCheck,
  passwordHash,
  mcpConfig,
  shellCompletion(() => commands),
  workflowList,
  workflowShow,
  workflowPut,
  workflowTry,
  workflowDiff,
  workflowTake,
  workflowDelete,
  automationList,
  automationShow,
  automationCreate,
  automationSet,
  automationPause,
  automationResume,
  automationTake,
  automationDelete,
  formList,
  formShow,
  formPut,
  formDelete,
  runStart,
  runList,
  runShow,
  runItems,
  runCancel,
  runSuspend,
  runResume,
  runRerun,
  runDecide,
  runRelease,
  approvalList,
  approvalShow,
  approvalGrant,
  approvalReject,
  auditList,
  auditShow,
  auditVerify,
  statisticsList,
  catalogueImport,
  catalogueExport,
  accessExplain,
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
