import { stat } from 'node:fs/promises';
import { systemCode } from '#base/system-code.ts';
import { readRegularFile } from '../shapes/regular-file.ts';
import type { ValueSource } from './value-source.ts';

/** Bytes. */
export const secretLimit = 65_536;

/** The text without one final line break. `path`: absolute. */
export function fileSource(path: string): ValueSource {
  return {
    name: `file ${path}`,
    async read() {
      const read = await readRegularFile(path, secretLimit);
      return 'text' in read ? { text: withoutLineBreak(read.text) } : { fault: `the file ${read.fault}` };
    },
    // Follows links: Kubernetes exchanges the folder that they lead to.
    async stamp() {
      try {
        const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
        return [ino, size, mtimeNs, ctimeNs].join(' ');
      } catch (error) {
        return systemCode(error) ?? 'unknown';
      }
    },
  };
}

export function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/u, '');
}
