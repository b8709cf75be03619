import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/text/gathered-bytes.ts';

/** For restCall (RFC 9110 8.4.1, RFC 8878). */
export const acceptedCodings = 'gzip, deflate, br, zstd';

export interface ContentDecoder {
  /** False: wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  end(): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

interface DecoderOutput {
  readonly onData: (chunk: Buffer) => void;
  readonly onDrain: () => void;
  readonly onEnd: () => void;
  readonly onError: (error: Error) => void;
}

/** Undefined for `identity` and codings that the gateway does not offer. Refuses several layers, which serve only bombs. */
export function createContentDecoder(contentEncoding: string, output: DecoderOutput): ContentDecoder | undefined {
  const codings = contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > 1) {
    throw new GatewayError(
      'upstream-protocol-error',
      `The upstream's reply has ${codings.length} content codings on top of each other; the gateway takes one off at most.`,
    );
  }
  const start = decoders.get(codings[0] ?? '');
  return start === undefined ? undefined : lazyDecoder(start, output);
}

const decoders: ReadonlyMap<string, (firstByte: number) => Transform> = new Map<string, (firstByte: number) => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  // RFC 9110 8.4.1.2 means zlib, whose low nibble is 8; some servers send raw DEFLATE.
  ['deflate', (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  // A window of at most 8 MB, held in memory (RFC 9659).
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })],
]);

/** Bytes; beyond them reading from the upstream pauses. */
const waitingLimit = 16_384;

/** Starts with the first byte, so that an empty body stays empty. Joins chunks that come during a write: each write is a task for a thread. */
function lazyDecoder(start: (firstByte: number) => Transform, output: DecoderOutput): ContentDecoder {
  const waiting = new GatheredBytes();
  let transform: Transform | undefined;
  let [working, full, ended, destroyed] = [false, false, false, false];
  const open = (firstByte: number): Transform => {
    const opened = start(firstByte);
    opened.on('data', output.onData);
    opened.on('end', output.onEnd);
    opened.on('error', (error) => {
      if (!destroyed) output.onError(error);
    });
    return opened;
  };
  const work = (): void => {
    working = true;
    transform?.write(waiting.take(), worked);
  };
  const worked = (error?: Error | null): void => {
    working = false;
    if (destroyed || error) return;
    if (waiting.length > 0) work();
    else if (ended) transform?.end();
    if (!full) return;
    full = false;
    output.onDrain();
  };
  return {
    write(chunk) {
      if (chunk.length === 0) return true;
      transform ??= open(chunk[0] ?? 0);
      waiting.add(chunk);
      if (!working) work();
      full = waiting.length > waitingLimit;
      return !full;
    },
    end() {
      ended = true;
      if (transform === undefined) output.onEnd();
      else if (!working) transform.end();
    },
    pause: () => transform?.pause(),
    resume: () => transform?.resume(),
    destroy() {
      destroyed = true;
      transform?.destroy();
    },
  };
}
