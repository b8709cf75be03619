import { isUtf8 } from 'node:buffer';
import { JsonScanner } from '#json/json-scanner.ts';
import { escapeJsonString } from '#json/json-string.ts';
import { createInstanceData } from './instance-data.ts';

/**
 * One step from the far side's bytes to the gateway's reply: takes a chunk, gives what can be given on, which keeps its bytes until
 * the next `push`. Throws where the bytes are not what the step was chosen for. Chunks may be cut anywhere.
 */
export interface Stage {
  push(chunk: Buffer): Buffer;
  /** What was held back; throws where the bytes end too early. */
  end(): Buffer;
}

const nothing: Buffer = Buffer.alloc(0);

/** The bytes are no text in their charset. */
class NotText extends Error {}

/** UTF-8 in, the same bytes out, checked; a character that is cut by the end of a chunk waits for the next one. */
export function utf8Stage(): Stage {
  let held: Buffer = nothing;
  return {
    push(chunk) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const complete = completeLength(bytes);
      const given = complete === bytes.length ? bytes : bytes.subarray(0, complete);
      if (!isUtf8(given)) throw new NotText('not UTF-8');
      held = complete === bytes.length ? nothing : bytes.subarray(complete);
      return given;
    },
    end() {
      if (held.length > 0) throw new NotText('UTF-8 ends inside a character');
      return nothing;
    },
  };
}

/** How many bytes remain when a multi-byte character that the end cuts is left out. */
function completeLength(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return sequenceLength(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}

/** Any charset of the Encoding standard in, UTF-8 out. Throws RangeError for a label it does not know. */
export function charsetStage(label: string): Stage {
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true });
  return {
    push: (chunk) => Buffer.from(decoder.decode(chunk, { stream: true })),
    end: () => Buffer.from(decoder.decode()),
  };
}

/** Bytes in, base64 out; up to two bytes wait for the next chunk. */
export function base64Stage(): Stage {
  let held: Buffer = nothing;
  return {
    push(chunk) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const whole = bytes.length - (bytes.length % 3);
      held = Buffer.from(bytes.subarray(whole));
      return Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    },
    end: () => Buffer.from(held.toString('base64'), 'latin1'),
  };
}

/** Text in, the inside of a JSON string literal out. */
export function escapeStage(): Stage {
  return {
    push: escapeJsonString,
    end: () => nothing,
  };
}

/** Far sides' JSON nested deeper than this is taken for text; well beyond what any parser takes. */
const replyDepth = 1_000_000;

/** JSON in, the same bytes out, checked to be one JSON text. */
export function jsonStage(): Stage {
  const scanner = new JsonScanner({ maxDepth: replyDepth });
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

/** JSON in, the answer of restQuery out (contract 4). */
export function instanceDataStage(): Stage {
  let written: Buffer[] = [];
  const transformation = createInstanceData({ write: (chunk) => written.push(chunk) });
  const take = (): Buffer => {
    const taken = written.length > 1 ? Buffer.concat(written) : (written[0] ?? nothing);
    written = [];
    return taken;
  };
  return {
    push(chunk) {
      transformation.push(chunk);
      return take();
    },
    end() {
      transformation.end();
      return take();
    },
  };
}
