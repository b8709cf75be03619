import { isUtf8 } from 'node:buffer';
import { GatewayError } from '#base/gateway-error.ts';
import { compileProgram } from '#base/web-assembly.ts';
import { JsonScanner } from '#json/json-scanner.ts';
import { JsonTextWriter } from '#json/json-text-writer.ts';
import { InstanceWriter } from './instance-writer.ts';

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

/** As Buffer.concat, without a copy where one part at most is all there is. */
export function joined(parts: readonly Buffer[]): Buffer {
  const full = parts.filter(({ length }) => length > 0);
  return full.length > 1 ? Buffer.concat(full) : (full[0] ?? nothing);
}

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
  const written: Buffer[] = [];
  const writer = new JsonTextWriter((chunk) => written.push(chunk));
  return {
    push(chunk) {
      writer.reuse();
      // Mostly a little more than what is escaped.
      writer.reserve(chunk.length + (chunk.length >> 2) + 64);
      writer.escaped(chunk, 0, chunk.length);
      writer.flush();
      return joined(written.splice(0));
    },
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

const instanceProgram = compileProgram(new URL('.', import.meta.url), 'instance-data');
/** Writers that wait for the next reply. */
const idleWriters: InstanceWriter[] = [];
/** How many of them are kept, and up to which size: memory of WebAssembly only grows. */
const mostIdle = 8;
const usualSize = 4 * 1024 ** 2;
/** Bytes of one instance that are held for repeated members to be joined. */
const holdLimit = 8 * 1024 ** 2;

/** JSON in, the answer of restQuery out (contract 4). */
export function instanceDataStage(): Stage {
  const writer = idleWriters.pop() ?? newWriter();
  writer.begin(holdLimit);
  return {
    push: (chunk) => writer.push(chunk),
    end() {
      const last = writer.end();
      if (idleWriters.length < mostIdle && writer.size <= usualSize) idleWriters.push(writer);
      return last;
    },
  };
}

function newWriter(): InstanceWriter {
  try {
    return new InstanceWriter(instanceProgram);
  } catch (cause) {
    // V8 reserves 8 GiB of addresses for each, which `ulimit -v` may not grant.
    throw new GatewayError('overloaded', 'The gateway has no memory to take another reply apart: repeat the query in a moment.', {
      headers: { 'Retry-After': '1' },
      cause,
    });
  }
}
