import { JsonScanner } from '#json/json-scanner.ts';
import type { Stage } from '#relay/stage.ts';
import { InstanceWriter } from './instance-writer.ts';

const nothing: Buffer = Buffer.alloc(0);

/** Input: UTF-8. Output: the inside of a JSON string literal (RFC 8259, section 7). */
export function escapeStage(): Stage {
  let output = nothing;
  return {
    push(chunk) {
      // One character a byte: only ASCII is escaped, so the bytes of other characters stay as they are, wherever the chunk is cut.
      const literal = JSON.stringify(chunk.toString('latin1'));
      if (literal.length > output.length) output = Buffer.allocUnsafe(literal.length + (literal.length >> 2));
      output.write(literal, 'latin1');
      return output.subarray(1, literal.length - 1);
    },
    end: () => nothing,
  };
}

/** Deeper nesting is refused; no parser reads it. */
const maxDepth = 1_000_000;

/** Input: JSON. Output: the same bytes, checked to be one JSON text. */
export function jsonStage(): Stage {
  const scanner = new JsonScanner({ maxDepth });
  return {
    push(chunk) {
      scanner.push(chunk);
      return chunk;
    },
    end() {
      scanner.end();
      return nothing;
    },
  };
}

/** Most bytes of one instance that are held to merge its repeated members. */
const holdLimit = 8 * 1024 ** 2;

/** Input: JSON. Output: the answer of restQuery. */
export function instanceDataStage(): Stage {
  const writer = new InstanceWriter(holdLimit);
  return { push: (chunk) => writer.push(chunk), end: () => writer.finish() };
}
