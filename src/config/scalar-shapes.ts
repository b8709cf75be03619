import { isScalar } from 'yaml';
import { didYouMean } from '#yaml/nearest.ts';
import { listed, shown } from '#yaml/wording.ts';
import { type Place, scalarOf, wrongKind } from './place.ts';
import { isUntagged, type Shape } from './shape.ts';

/** The value of a text, or a fault. The fault follows the key path in a message: "server.port: is text". */
export type Parsed<T> = { readonly value: T } | { readonly fault: string };

interface TextOptions<T> {
  readonly type: string;
  readonly example: string;
  readonly parse: (text: string) => Parsed<T>;
}

/** A text value of well-formed Unicode. A fault of `parse` quotes the value only if the value cannot be a secret. */
export function text<T>({ type, example, parse }: TextOptions<T>): Shape<T> {
  return {
    type,
    async read(place) {
      const value = scalarOf(place);
      if (typeof value !== 'string') return wrongKind(place, `text, e.g. ${example}${isQuotable(value) ? ', in quotes' : ''}`);
      if (!isUntagged(place)) return undefined;
      const parsed = value.isWellFormed() ? parse(value) : { fault: 'holds an unpaired surrogate; write well-formed Unicode' };
      return valueOrProblem(place, parsed);
    },
  };
}

function isQuotable(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

function valueOrProblem<T>(place: Place, parsed: Parsed<T>): T | undefined {
  if ('value' in parsed) return parsed.value;
  place.reading.problem(place, parsed.fault);
  return undefined;
}

/** A name: 1 to `atMost` characters, without control characters and without white space at either end. */
export function label({ type, example, atMost = 255, refuse }: LabelOptions): Shape<string> {
  return text({
    type,
    example,
    parse: (value) => {
      if (value === '') return { fault: `is empty; write e.g. ${example}` };
      if (value.length > atMost) return { fault: `is longer than ${atMost} characters` };
      if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return { fault: 'holds a control character or a line break' };
      if (value !== value.trim()) return { fault: 'begins or ends with white space' };
      const fault = refuse?.(value);
      return fault === undefined ? { value } : { fault };
    },
  });
}

interface LabelOptions {
  readonly type: string;
  readonly example: string;
  readonly atMost?: number;
  readonly refuse?: (value: string) => string | undefined;
}

/** `true` or `false`. YAML 1.2 reads `yes`, `no`, `on` and `off` as text. */
export const flag: Shape<boolean> = {
  type: 'true or false',
  async read(place) {
    const value = scalarOf(place);
    return typeof value === 'boolean' && isUntagged(place) ? value : wrongKind(place, 'true or false, without quotes');
  },
};

/** A whole number from `from` to `to`. */
export function integer(from: number, to: number): Shape<number> {
  const type = `whole number, ${from} to ${to}`;
  return {
    type,
    async read(place) {
      const value = scalarOf(place);
      const isQuoted = typeof value === 'string' && /^\d+$/u.test(value);
      if (typeof value !== 'number') return wrongKind(place, `a ${type}${isQuoted ? '; take the quotes away' : ''}`);
      if (!isUntagged(place)) return undefined;
      if (Number.isInteger(value) && value >= from && value <= to) return value;
      place.reading.problem(place, `${sourceOf(place)} is out of range; write a ${type}`);
      return undefined;
    },
  };
}

function sourceOf(place: Place): string {
  return (isScalar(place.node) && place.node.source) || 'the number';
}

/** One of these words. */
export function choice<const T extends string>(...words: readonly T[]): Shape<T> {
  const wanted = words.length === 1 ? `${words[0]}` : `one of ${listed(words)}`;
  return text({
    type: words.join(', '),
    example: words[0] ?? '',
    parse: (value) => {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return { value: word };
      return { fault: `${shown(value)} is unknown here; write ${wanted}${didYouMean(value, words)}` };
    },
  });
}

const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const bytes = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** A positive whole number with a unit (`300s`), in milliseconds. `atMost` is such a text. */
export function duration(atMost: string): Shape<number> {
  return quantity({ type: 'duration', units: milliseconds, example: '300s', atMost });
}

/** Also the number 0, without a unit. */
export function orZero(shape: Shape<number>): Shape<number> {
  return {
    type: `${shape.type}, or 0`,
    read: async (place) => (scalarOf(place) === 0 ? 0 : await shape.read(place)),
  };
}

/** A positive whole number with a unit (`10MiB`), in bytes. `atMost` is such a text. */
export function size(atMost: string): Shape<number> {
  return quantity({ type: 'size', units: bytes, example: '10MiB', atMost });
}

interface QuantityOptions {
  readonly type: string;
  readonly units: Readonly<Record<string, number>>;
  readonly example: string;
  readonly atMost: string;
}

function quantity({ type, units, example, atMost }: QuantityOptions): Shape<number> {
  const limit = toNumber(atMost, units) ?? 0;
  const parse = (value: string): Parsed<number> => {
    const count = toNumber(value, units);
    if (count === undefined)
      return { fault: `${shown(value)} is no ${type}; write e.g. ${example} (units ${listed(Object.keys(units))})` };
    if (count < 1) return { fault: `${shown(value)} is too small; write a ${type} above zero, e.g. ${example}` };
    return count > limit ? { fault: `${shown(value)} is too large; write at most ${atMost}` } : { value: count };
  };
  const shape = text({ type: `${type}, at most ${atMost}`, example, parse });
  return {
    ...shape,
    async read(place) {
      if (typeof scalarOf(place) !== 'number') return shape.read(place);
      place.reading.problem(place, `${sourceOf(place)} has no unit; write e.g. ${example} (units ${listed(Object.keys(units))})`);
      return undefined;
    },
  };
}

function toNumber(value: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, count, unit] = /^(\d{1,15})([A-Za-z]+)$/u.exec(value) ?? [];
  if (count === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined;
  return Number(count) * (units[unit] ?? 0);
}
