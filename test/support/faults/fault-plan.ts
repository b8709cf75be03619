import { type SeededRandom, seededRandom } from '../seeded-random.ts';

/** The faults of a connection: Toxiproxy's eight toxics (by its names), then those of this project. */
export const faultKinds = [
  'none',
  'latency',
  'down',
  'bandwidth',
  'slow_close',
  'timeout',
  'reset_peer',
  'slicer',
  'limit_data',
  'reset-before-request',
  'reset-after-request',
  'drop-reply',
  'half-close',
  'cut-request',
  'cut-reply',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** The fault of a connection. Each fault uses only some of the numbers. */
export interface FaultPlan {
  readonly fault: FaultKind;
  /** The number of the request at which the fault begins, from 0; the requests before it go through. */
  readonly exchange: number;
  /** The place of a cut, from the first byte of that request or reply. For other faults: the size of a slice, or a limit in bytes. */
  readonly bytes: number;
  /** The length of a delay, of a pause between two slices, or of the time before a reset. */
  readonly milliseconds: number;
  /** The fault ends with a reset instead of FIN; a half-close is towards the gateway instead of the upstream. */
  readonly reset: boolean;
}

/** The plan of connection `number` of proxy `proxy`: the same in every run with this seed, in any order of connections. */
export function faultPlan(seed: number, proxy: number, number: number): FaultPlan {
  const random = seededRandom(
    Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(proxy + 1, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35),
  );
  // A quarter has no fault, so that connections are also kept open and idle.
  const fault = random.chance(0.25)
    ? 'none'
    : random.chance(0.04)
      ? 'down'
      : random.pick(faultKinds.filter((kind) => kind !== 'down'));
  return {
    fault,
    exchange: random.whole(0, 4),
    bytes: bytesOf(fault, random),
    milliseconds: millisecondsOf(fault, random),
    reset: random.chance(0.5),
  };
}

function bytesOf(fault: FaultKind, random: SeededRandom): number {
  switch (fault) {
    case 'bandwidth':
      return random.whole(200, 20_000);
    case 'slicer':
      return random.whole(1, 400);
    case 'limit_data':
      return random.chance(0.5) ? random.whole(1, 1_000) : random.whole(1_000, 300_000);
    // Each byte of a head and of a small body has the same chance; 30% of the cuts are later, in a large reply.
    case 'cut-reply':
      return random.chance(0.7) ? random.whole(0, 300) : random.whole(300, 250_000);
    default:
      return random.whole(0, 500);
  }
}

function millisecondsOf(fault: FaultKind, random: SeededRandom): number {
  switch (fault) {
    case 'bandwidth':
      return random.whole(5, 50);
    case 'slicer':
      return random.whole(0, 3);
    case 'latency':
      return random.chance(0.8) ? random.whole(1, 100) : random.whole(100, 900);
    case 'down':
      return random.whole(5, 80);
    default:
      return random.whole(0, 300);
  }
}
