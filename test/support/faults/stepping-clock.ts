import { renameSync, writeFileSync } from 'node:fs';
import type { Owner } from '../owner.ts';
import { temporaryFile } from '../temporary-file.ts';

/** The clock of a gateway, which steps like that of a machine whose time is corrected. Its monotonic clock does not step. */
interface SteppingClock {
  /** For the gateway. */
  readonly environment: Readonly<Record<string, string>>;
  /** The clock is now so many milliseconds ahead of the machine's. */
  stepTo(milliseconds: number): void;
}

export function steppingClock(owner: Owner): SteppingClock {
  const file = temporaryFile(owner, 'step', '0');
  return {
    environment: {
      NODE_OPTIONS: `--import=${new URL('stepped-date.ts', import.meta.url).href}`,
      CLOCK_STEP_FILE: file,
    },
    stepTo(milliseconds) {
      writeFileSync(`${file}.new`, String(milliseconds));
      renameSync(`${file}.new`, file);
    },
  };
}
