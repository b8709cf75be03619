/** Pseudo-random numbers, the same for the same seed, so that a failed run can be repeated. */
export interface SeededRandom {
  /** At least `from`, below `to`; whole. */
  readonly whole: (from: number, to: number) => number;
  /** True with this probability, 0 to 1. */
  readonly chance: (likelihood: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

/** Mulberry32; its 32 bits of state are enough for tests. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (from: number, to: number): number => from + Math.floor(next() * (to - from));
  return {
    whole,
    chance: (likelihood) => next() < likelihood,
    pick: (list) => {
      const picked = list[whole(0, list.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}

/** A random seed. */
export function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** The seed in SEED, to repeat a run, or a new one. */
export function givenSeed(): number {
  const given = process.env['SEED'];
  return given === undefined || given === '' ? newSeed() : Number(given);
}
