import type { Socket } from 'node:net';

const nothing: Buffer = Buffer.alloc(0);
const statusLine = Buffer.from('HTTP/1.1 100');
const endOfHead = Buffer.from('\r\n\r\n');
/** Bytes before one reply. More is a flood, which undici is left to end. */
const skippedAtMost = 16_384;

/**
 * Takes `100 Continue` out of what a socket reads before a reply. A client must put up with one that it did not ask for (RFC 9110
 * 15.2), and undici breaks the connection off instead (lib/dispatcher/client-h1.js), which would leave an action that was carried out
 * without its answer. Only the beginning of a reply is looked at: what is read first after something was written.
 */
export function skipUnaskedContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket);
  let looking = false;
  let skipped = 0;
  let held = nothing;

  socket.write = ((...args: Parameters<typeof write>) => {
    looking = true;
    skipped = 0;
    return write(...args);
  }) as Socket['write'];

  socket.read = (size) => {
    let chunk = read(size) as Buffer | null;
    while (looking && chunk !== null) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const rest = afterContinues(bytes);
      skipped += bytes.length - rest.length;
      looking = beginsAsContinue(rest) && skipped + rest.length <= skippedAtMost;
      held = looking ? rest : nothing;
      if (!looking) return rest;
      chunk = read(size) as Buffer | null;
    }
    return chunk;
  };
}

/** The bytes behind every complete `100 Continue` that they begin with. */
function afterContinues(bytes: Buffer): Buffer {
  let rest = bytes;
  while (rest.length >= statusLine.length && beginsAsContinue(rest)) {
    const end = rest.indexOf(endOfHead);
    if (end < 0) break;
    rest = rest.subarray(end + endOfHead.length);
  }
  return rest;
}

/** The bytes begin as a 100 does, as far as they go. */
function beginsAsContinue(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, statusLine.length);
  return bytes.subarray(0, length).equals(statusLine.subarray(0, length));
}
