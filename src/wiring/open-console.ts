import { fileURLToPath } from 'node:url';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { type ConsoleFiles, readConsole } from '#http/console/console-files.ts';

const folder = fileURLToPath(new URL('../../console/dist', import.meta.url));

/** The files of the console. Where it is not built the gateway starts without it, and the log says so. `path`: in front of each path. */
export async function openConsole({ server }: Config, path: string, log: Log): Promise<ConsoleFiles | 'off' | undefined> {
  if (!server.console) return 'off';
  const files = await readConsole(folder, path);
  if (files === undefined) log.warn('the console is not built', { file: folder, reason: 'npm run build:console builds it' });
  return files;
}
