import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

interface ShellOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const run = promisify(execFile);

/** What the program prints. Rejects with what it wrote to standard error where it fails. */
export async function output(command: string, args: readonly string[], { cwd, env }: ShellOptions = {}): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 ** 2 };
  const { stdout } = await run(command, [...args], options).catch((error: unknown) => {
    const { stderr = '', stdout: printed = '' } = error as { readonly stderr?: string; readonly stdout?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${printed}${stderr}`, { cause: error });
  });
  return stdout;
}

export function isInstalled(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}
