import type { Socket } from 'node:net';
import type { FaultKind, FaultPlan } from './fault-plan.ts';
import { type After, createPump, type Pump } from './fault-pump.ts';

/** The place of a chunk in its connection. */
interface Place {
  /** The number of the request in its connection, from 0; a reply has the number of its request. */
  readonly exchange: number;
  /** Bytes of the same request or reply before the chunk. */
  readonly offset: number;
}

/** A connection through the proxy, as a fault sees it. */
interface Line {
  readonly near: Socket;
  readonly far: Socket;
  readonly toFar: Pump;
  readonly toNear: Pump;
  readonly after: After;
  /** Ends both sides at once, by reset or by FIN; no byte is forwarded after that. */
  cut(reset: boolean): void;
}

/** What a fault does with the bytes of the gateway and of the upstream; without a handler they are forwarded. */
interface Toxic {
  readonly slow?: { readonly toFar?: Slowness; readonly toNear?: Slowness };
  readonly begin?: (line: Line) => void;
  readonly request?: (line: Line, chunk: Buffer, place: Place) => void;
  readonly reply?: (line: Line, chunk: Buffer, place: Place) => void;
}
type Slowness = Omit<Parameters<typeof createPump>[0], 'to' | 'after'>;

const swallow = (): void => {};

const toxics: Readonly<Record<FaultKind, (plan: FaultPlan) => Toxic>> = {
  none: () => ({}),
  // The proxy also refuses every new connection for a while (fault-proxy.ts).
  down: () => ({ begin: (line) => line.cut(true) }),
  latency: ({ milliseconds: delay }) => ({ slow: { toFar: { delay }, toNear: { delay } } }),
  bandwidth: ({ bytes: size, milliseconds: pause }) => ({ slow: { toNear: { slice: { size, pause } } } }),
  slicer: ({ bytes, milliseconds: pause }) => {
    const slice = { size: bytes + 1, pause };
    return { slow: { toFar: { slice }, toNear: { slice } } };
  },
  slow_close: ({ milliseconds }) => {
    const endDelay = 200 + milliseconds;
    return { slow: { toFar: { endDelay }, toNear: { endDelay } } };
  },
  timeout: ({ milliseconds }) => ({
    // In half of the cases the proxy does not close, so that a time limit of the gateway must.
    begin: (line) => line.after(milliseconds < 150 ? milliseconds : 60_000, () => line.cut(false)),
    request: swallow,
    reply: swallow,
  }),
  reset_peer: ({ milliseconds }) => ({ begin: (line) => line.after(milliseconds, () => line.cut(true)) }),
  limit_data: ({ bytes }) => {
    let left = bytes;
    return {
      reply: (line, chunk) => {
        line.toNear.push(chunk.subarray(0, left));
        left -= chunk.length;
        if (left <= 0) line.cut(false);
      },
    };
  },
  'reset-before-request': ({ exchange }) => ({
    request: (line, chunk, place) => {
      if (place.exchange === exchange) line.cut(true);
      else line.toFar.push(chunk);
    },
  }),
  'reset-after-request': ({ exchange }) => ({
    reply: (line, chunk, place) => {
      if (place.exchange === exchange) line.cut(true);
      else line.toNear.push(chunk);
    },
  }),
  'drop-reply': ({ exchange, milliseconds, reset }) => ({
    reply: (line, chunk, place) => {
      if (place.exchange < exchange) line.toNear.push(chunk);
      else if (place.offset === 0 && milliseconds < 150) line.after(milliseconds, () => line.cut(reset));
    },
  }),
  'half-close': ({ exchange, reset }) => ({
    request: (line, chunk, place) => {
      line.toFar.push(chunk);
      if (place.exchange === exchange) (reset ? line.toNear : line.toFar).end();
    },
  }),
  'cut-request': ({ exchange, bytes, reset }) => ({
    request: (line, chunk, place) => {
      if (place.exchange < exchange || place.offset + chunk.length <= bytes) {
        line.toFar.push(chunk);
        return;
      }
      line.toFar.push(chunk.subarray(0, Math.max(0, bytes - place.offset)));
      line.cut(reset);
    },
  }),
  'cut-reply': ({ exchange, bytes, reset }) => ({
    reply: (line, chunk, place) => {
      if (place.exchange < exchange || place.offset + chunk.length <= bytes) {
        line.toNear.push(chunk);
        return;
      }
      line.toNear.push(chunk.subarray(0, Math.max(0, bytes - place.offset)));
      line.cut(reset);
    },
  }),
};

/**
 * Forwards one connection between the gateway (`near`) and the upstream, with the fault of its plan. The connection ends after
 * `lifetime` milliseconds at the latest.
 */
export function carry(options: {
  readonly near: Socket;
  readonly far: Socket;
  readonly plan: FaultPlan;
  readonly lifetime: number;
}): { readonly cut: (reset: boolean) => void } {
  const { near, far, plan, lifetime } = options;
  const timers = new Set<NodeJS.Timeout>();
  let ended = false;
  const after: After = (milliseconds, work) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, milliseconds);
    timers.add(timer);
  };
  const destroy = (): void => {
    ended = true;
    for (const timer of timers) clearTimeout(timer);
    for (const socket of [near, far]) socket.destroy();
  };
  const cut = (reset: boolean): void => {
    if (ended) return;
    ended = true;
    for (const socket of [near, far]) {
      if (reset) resetHard(socket);
      else socket.end();
    }
    // The other sides may keep a connection half-closed for long; the proxy destroys its sockets after a second.
    after(1_000, destroy);
  };
  const toxic = toxics[plan.fault](plan);
  const line: Line = {
    near,
    far,
    after,
    cut,
    toFar: createPump({ to: far, after, ...toxic.slow?.toFar }),
    toNear: createPump({ to: near, after, ...toxic.slow?.toNear }),
  };
  const count = countMessages();
  const carried = (side: 'request' | 'reply', pump: Pump) => (chunk: Buffer) => {
    if (ended) return;
    const place = count(side, chunk.length);
    const fault = toxic[side];
    if (fault === undefined) pump.push(chunk);
    else fault(line, chunk, place);
  };
  near.on('data', carried('request', line.toFar)).on('end', () => line.toFar.end());
  far.on('data', carried('reply', line.toNear)).on('end', () => line.toNear.end());
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    socket.on('error', () => {
      if (!ended) resetHard(other);
    });
    socket.on('close', () => {
      if (near.closed && far.closed) destroy();
      // A side that has closed neither reads nor sends, so the other side is closed as well.
      else if (!ended) after(plan.fault === 'slow_close' ? 200 + plan.milliseconds : 0, () => other.destroy());
    });
  }
  after(lifetime, destroy);
  toxic.begin?.(line);
  return { cut };
}

/**
 * Resets the connection where that is possible. libuv refuses a reset during an end (uv_tcp_close_reset: EINVAL). Node then neither
 * closes the socket nor reports an error, so the socket is destroyed instead.
 */
function resetHard(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/**
 * Finds the place of a chunk without reading HTTP. The gateway does not pipeline, so a request begins with its first bytes
 * after those of the upstream.
 */
function countMessages(): (side: 'request' | 'reply', length: number) => Place {
  let exchange = 0;
  let offset = 0;
  let last: 'request' | 'reply' = 'request';
  return (side, length) => {
    if (side !== last) {
      if (side === 'request') exchange += 1;
      offset = 0;
    }
    last = side;
    const place = { exchange, offset };
    offset += length;
    return place;
  };
}
