import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemCode } from '#base/system-code.ts';

/** A fault completes "the file …". */
type FileText = { readonly text: string } | { readonly fault: string };

/** UTF-8, at most `limit` bytes. Never throws. A pipe or device is a fault: reading it could block the start. */
export async function readRegularFile(path: string, limit: number): Promise<FileText> {
  try {
    // Opening a FIFO without a writer would block for ever.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (!stat.isFile()) return { fault: `${path} is no regular file` };
    if (stat.size > limit) return { fault: `${path} is larger than ${limit} bytes` };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile()) };
  } catch (error) {
    return { fault: `${path} ${reason(error)}` };
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by this user',
  EISDIR: 'is a directory',
  ENOTDIR: 'has a parent that is no directory',
  ENXIO: 'is no regular file',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
};

function reason(error: unknown): string {
  const code = systemCode(error) ?? 'unknown error';
  return reasons[code] ?? `cannot be read (${code})`;
}
