import { createHash } from 'node:crypto';

/** SHA-256 of the UTF-8 bytes of a document, hexadecimal: a document is its digest, and not its id and version. */
export function documentDigest(document: string): string {
  return createHash('sha256').update(document).digest('hex');
}
