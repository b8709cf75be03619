import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from './owner.ts';

/** Writes `text` into a new file, which is removed with its owner; answers the absolute file name. */
export function temporaryFile(owner: Owner, name: string, text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-file-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}
