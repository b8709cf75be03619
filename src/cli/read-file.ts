import { resolve } from 'node:path';
import { readRegularFile } from '#config/shapes/regular-file.ts';
import type { CommandContext } from './command.ts';
import { CommandFailed } from './gateway-session.ts';

/** The text of a file that a person named. `limit`: bytes. Rejects with a CommandFailed. */
export async function readFile({ cwd }: Pick<CommandContext, 'cwd'>, file: string, limit: number): Promise<string> {
  const read = await readRegularFile(resolve(cwd, file), limit);
  if ('text' in read) return read.text;
  throw new CommandFailed(`${file}:1:1: the file ${read.fault}`);
}
