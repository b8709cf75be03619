import type { Socket } from 'node:net';

const nothing: Buffer = Buffer.alloc(0);
const interim = Buffer.from('HTTP/1.1 1');
const unasked = Buffer.from('HTTP/1.1 100');
const switching = Buffer.from('HTTP/1.1 101');
const endOfHead = Buffer.from('\r\n\r\n');
/** A whole `100 Continue`, with or without fields (RFC 9112 4): what only begins as one is left to undici, which refuses it. */
const continuing = /^HTTP\/1\.1 100(?: [^\r\n\0]*)?\r\n(?:[!-9;-~]+:[^\r\n\0]*\r\n)*\r\n$/u;
/** Bytes before one reply. More is a flood, which undici is left to end. */
const lookedAtMost = 16_384;

/**
 * Takes `100 Continue` out of what a socket reads before a reply, also behind other interim answers, which pass. A client must put up with one
 * that it did not ask for (RFC 9110 15.2), and undici breaks the connection off instead (lib/dispatcher/client-h1.js), which would leave
 * an action that was carried out without its answer. Only the beginning of a reply is looked at: what is read first after something was
 * written.
 */
export function skipUnaskedContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket);
  let looking = false;
  let looked = 0;
  let held = nothing;

  socket.write = ((...args: Parameters<typeof write>) => {
    looking = true;
    looked = 0;
    return write(...args);
  }) as Socket['write'];

  socket.read = (size) => {
    let chunk = read(size) as Buffer | null;
    while (looking && chunk !== null) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const { passed, rest } = withoutContinues(bytes);
      looked += bytes.length - rest.length;
      looking = mayBeInterim(rest) && looked + rest.length <= lookedAtMost;
      held = looking ? rest : nothing;
      if (!looking) return passed.length === 0 ? rest : Buffer.concat([passed, rest]);
      if (passed.length > 0) return passed;
      chunk = read(size) as Buffer | null;
    }
    return chunk;
  };
}

/** The whole interim answers that the bytes begin with, but for `100 Continue`, and what stands behind them. */
function withoutContinues(bytes: Buffer): { readonly passed: Buffer; readonly rest: Buffer } {
  let [passed, rest] = [nothing, bytes];
  while (rest.length >= unasked.length && mayBeInterim(rest)) {
    const end = rest.indexOf(endOfHead);
    if (end < 0) break;
    const head = rest.subarray(0, end + endOfHead.length);
    if (!continuing.test(head.toString('latin1'))) passed = Buffer.concat([passed, head]);
    rest = rest.subarray(head.length);
  }
  return { passed, rest };
}

/** Behind a 101 (Switching Protocols) comes no reply. */
function mayBeInterim(bytes: Buffer): boolean {
  return beginsAs(interim, bytes) && !(bytes.length >= switching.length && beginsAs(switching, bytes));
}

/** As far as the bytes go. */
function beginsAs(start: Buffer, bytes: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}
