import { isAscii, isUtf8 } from 'node:buffer';
import { GatewayError } from '#base/gateway-error.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';

/** One step from the upstream's bytes to the reply. `push` takes a chunk cut anywhere; its output is valid until the next `push`. Throws for bytes of another kind. */
export interface Stage {
  push(chunk: Buffer): Buffer;
  /** Bytes held back; throws where the input ends too early. */
  end(): Buffer;
}

const nothing: Buffer = Buffer.alloc(0);

class NotText extends Error {}

/** UTF-8, checked. A cut character waits for the next chunk. */
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

/** Without a character that the end cuts. */
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

/** ASCII, checked. */
export function asciiStage(): Stage {
  return {
    push(chunk) {
      if (!isAscii(chunk)) throw new NotText('not ASCII');
      return chunk;
    },
    end: () => nothing,
  };
}

/** A charset of the Encoding standard to UTF-8. Throws RangeError for an unknown label. UTF-16 follows its byte order mark (RFC 2781 4.3), else is little-endian. */
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

/** UTF-8 without a byte order mark at its beginning. */
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

/** Bytes to base64. Up to two bytes wait for the next chunk. */
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

interface Staged {
  readonly stages: readonly Stage[];
}

interface StagedBody<C> {
  readonly chosen: C;
  /** All of it where `rest` is undefined. */
  readonly head: Buffer;
  /** Throws `upstream-protocol-error` where the reply does not continue as it began. A chunk is valid until the next is requested. */
  readonly rest: AsyncIterable<Buffer> | undefined;
}

/** In the first way that accepts the head. A candidate is undefined where headers exclude it; the last must accept any reply. */
export function stagedBody<C extends Staged>(reply: UpstreamReply, candidates: readonly (() => C | undefined)[]): StagedBody<C> {
  for (const candidate of candidates) {
    const staged = attempt(reply, candidate);
    if (staged !== undefined) return staged;
  }
  throw new Error('no way to read the reply accepts it');
}

function attempt<C extends Staged>(reply: UpstreamReply, candidate: () => C | undefined): StagedBody<C> | undefined {
  try {
    const chosen = candidate();
    if (chosen === undefined) return undefined;
    const first = pushAll(chosen.stages, reply.head);
    if (reply.rest !== undefined) return { chosen, head: first, rest: stagedRest(reply.rest, chosen.stages) };
    return { chosen, head: join([first, endAll(chosen.stages)]), rest: undefined };
  } catch (fault) {
    if (fault instanceof GatewayError) throw fault;
    return undefined;
  }
}

async function* stagedRest(rest: AsyncIterable<Buffer>, stages: readonly Stage[]): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of rest) {
    const out = orLateFault(() => pushAll(stages, chunk));
    if (out.length > 0) yield out;
  }
  const last = orLateFault(() => endAll(stages));
  if (last.length > 0) yield last;
}

function orLateFault(work: () => Buffer): Buffer {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof GatewayError) throw fault;
    const detail = 'The reply of the upstream does not continue as its headers and its first bytes say.';
    throw new GatewayError('upstream-protocol-error', detail, { cause: fault });
  }
}

function pushAll(stages: readonly Stage[], chunk: Buffer): Buffer {
  let out = chunk;
  for (const stage of stages) out = stage.push(out);
  return out;
}

function endAll(stages: readonly Stage[]): Buffer {
  let out = nothing;
  for (const stage of stages) out = join([out.length === 0 ? out : stage.push(out), stage.end()]);
  return out;
}

/** Without a copy where at most one part has bytes. */
function join(parts: readonly Buffer[]): Buffer {
  const full = parts.filter(({ length }) => length > 0);
  return full.length > 1 ? Buffer.concat(full) : (full[0] ?? nothing);
}
