import { open } from 'node:fs/promises';
import type { Log } from '#base/log.ts';

/**
 * Where checkpoints are written: the log, at any level, or a file (mode 0600). The promise resolves when the line is on the disk
 * of the file.
 */
export function checkpointSink(file: string | undefined, log: Log): (line: string) => Promise<void> {
  if (file === undefined) return async (checkpoint) => log.always('audit checkpoint', { checkpoint });
  return async (line) => {
    const handle = await open(file, 'a', 0o600);
    try {
      await handle.appendFile(`${line}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
  };
}
