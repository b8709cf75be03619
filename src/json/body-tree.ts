import { GatewayError } from '#base/gateway-error.ts';
import { type JsonNode, readJsonTree } from './json-tree.ts';

/** Bytes. The conversion of a body blocks the event loop; relaying it as it is does not. */
const convertibleLimit = 1024 ** 2;

/** The tree of a `body` that is converted to XML or a form. Throws `invalid-request` over 1 MiB. */
export function readBodyTree(object: Buffer): JsonNode {
  if (object.length <= convertibleLimit) return readJsonTree(object);
  throw new GatewayError('invalid-request', 'The body is too large to be converted from JSON to another format.', {
    errors: [
      { pointer: '/body', detail: `has ${object.length} bytes; at most ${convertibleLimit} can be converted to XML or a form` },
    ],
  });
}
