/** Numbers that look random and are the same for the same seed: a run that failed can be played again. */
export interface SeededRandom {
  /** At least `from`, below `to`; whole. */
  readonly whole: (from: number, to: number) => number;
  /** True this often, 0 to 1. */
  readonly chance: (likelihood: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

/** Mulberry32: 32 bits of state are plenty for choosing what a test does next. */
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

/** A seed that no run had before, as good as certainly. */
export function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}
