import type { Socket } from 'node:net';
import type { FaultKind, FaultPlan } from './fault-plan.ts';
import { type After, createPump, type Pump } from './fault-pump.ts';

/** Where in its connection a chunk stands. */
interface Place {
  /** Counts the requests of the connection from 0; a reply belongs to the request before it. */
  readonly exchange: number;
  /** Bytes of the same request or reply that came before the chunk. */
  readonly offset: number;
}

/** A connection through the proxy, as a fault sees it. */
interface Line {
  readonly near: Socket;
  readonly far: Socket;
  readonly toFar: Pump;
  readonly toNear: Pump;
  readonly after: After;
  /** Ends both sides at once, by reset or in order; nothing is carried any more. */
  cut(reset: boolean): void;
}

/** What a fault does with the bytes of the gateway and of the far side; without a say of its own they are carried. */
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
  // The proxy itself sees to it: it refuses everybody for a while.
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
    // In half the cases nobody ever closes: the gateway's own time limit has to.
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
 * Carries one connection between the gateway (`near`) and the far side, with what its plan has in store. It ends by itself after
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
  let over = false;
  const after: After = (milliseconds, work) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, milliseconds);
    timers.add(timer);
  };
  const destroy = (): void => {
    over = true;
    for (const timer of timers) clearTimeout(timer);
    for (const socket of [near, far]) socket.destroy();
  };
  const cut = (reset: boolean): void => {
    if (over) return;
    over = true;
    for (const socket of [near, far]) {
      if (reset) resetHard(socket);
      else socket.end();
    }
    // A close in order is up to the other sides: they may have the patience for it, the proxy has not.
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
    if (over) return;
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
      if (!over) resetHard(other);
    });
    socket.on('close', () => {
      if (near.closed && far.closed) destroy();
      // Whoever is gone for good reads nothing more, and has nothing more to say.
      else if (!over) after(plan.fault === 'slow_close' ? 200 + plan.milliseconds : 0, () => other.destroy());
    });
  }
  after(lifetime, destroy);
  toxic.begin?.(line);
  return { cut };
}

/**
 * A reset, where one can be had. libuv refuses it while the end is under way (uv_tcp_close_reset: EINVAL), and Node then neither closes
 * the socket nor says so: there an ordinary end has to do.
 */
function resetHard(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/**
 * Tells where a chunk stands without reading HTTP: the gateway does not pipeline, so that a request begins where bytes come from it
 * after bytes of the far side.
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
