import { GatewayError } from '#base/gateway-error.ts';
import { type JsonNode, readJsonTree } from './json-tree.ts';

/** Bytes. What is taken apart to be written in another form holds the event loop up; what is relayed as it stands does not. */
const convertibleLimit = 1024 ** 2;

/** The tree of a `body` that is to be written as XML or as a form. Throws `invalid-request` over 1 MiB. */
export function readBodyTree(object: Buffer): JsonNode {
  if (object.length <= convertibleLimit) return readJsonTree(object);
  throw new GatewayError('invalid-request', 'The body is too large to be written in another form than JSON.', {
    errors: [
      { pointer: '/body', detail: `has ${object.length} bytes; at most ${convertibleLimit} are written as XML or as a form` },
    ],
  });
}
