import { createHash } from 'node:crypto';

/** SHA-256 of the UTF-8 bytes of a document, hexadecimal: what a document is, whatever its id and version say. */
export function digestOf(document: string): string {
  return createHash('sha256').update(document).digest('hex');
}
