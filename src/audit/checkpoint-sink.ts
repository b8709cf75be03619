import { open } from 'node:fs/promises';
import type { Log } from '#base/log.ts';

/** Where checkpoints go: into the log, at any level, or to the end of a file (mode 0600), which has them on its disk when this resolves. */
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
