import { isAscii, isUtf8 } from 'node:buffer';

/**
 * One step from the far side's bytes to the gateway's reply. `push` takes a chunk, cut anywhere, and returns the output so far, which is
 * valid until the next `push`. It throws where the bytes are not of the kind that the stage is for.
 */
export interface Stage {
  push(chunk: Buffer): Buffer;
  /** Returns the bytes that were held back; throws where the input ends too early. */
  end(): Buffer;
}

const nothing: Buffer = Buffer.alloc(0);

/** The bytes are not text in their charset. */
class NotText extends Error {}

/** Input: UTF-8. Output: the same bytes, checked. A character that the end of a chunk cuts waits for the next chunk. */
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

/** The length without a multi-byte character that the end of the bytes cuts. */
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

/** Input: ASCII. Output: the same bytes, checked. */
export function asciiStage(): Stage {
  return {
    push(chunk) {
      if (!isAscii(chunk)) throw new NotText('not ASCII');
      return chunk;
    },
    end: () => nothing,
  };
}

/**
 * Input: any charset of the Encoding standard. Output: UTF-8. Throws RangeError for an unknown label. UTF-16 follows its byte order mark
 * (RFC 2781 4.3); without one it is little-endian, as the Encoding standard requires.
 */
export function charsetStage(label: string): Stage {
  const open = (name: string): TextDecoder => new TextDecoder(name, { fatal: true, ignoreBOM: true });
  let decoder = open(label);
  let first: Buffer | undefined = nothing;
  return {
    push(chunk) {
      if (first === undefined) return Buffer.from(decoder.decode(chunk, { stream: true }));
      first = Buffer.concat([first, chunk]);
      if (first.length < 2) return nothing;
      const begin = first;
      first = undefined;
      if (label === 'utf-16' && begin[0] === 0xfe && begin[1] === 0xff) decoder = open('utf-16be');
      return Buffer.from(decoder.decode(begin, { stream: true }));
    },
    end: () => Buffer.from(decoder.decode(first ?? nothing)),
  };
}

const mark = Buffer.from('\u{feff}');

/** Input: UTF-8. Output: the same without a byte order mark at its beginning. */
export function unmarkedStage(): Stage {
  let first: Buffer | undefined = nothing;
  return {
    push(chunk) {
      if (first === undefined) return chunk;
      const begin = first.length === 0 ? chunk : Buffer.concat([first, chunk]);
      if (begin.length < mark.length && mark.subarray(0, begin.length).equals(begin)) {
        first = Buffer.from(begin);
        return nothing;
      }
      first = undefined;
      return begin.subarray(0, mark.length).equals(mark) ? begin.subarray(mark.length) : begin;
    },
    end: () => first ?? nothing,
  };
}

/** Input: bytes. Output: base64. Up to two bytes wait for the next chunk. */
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
