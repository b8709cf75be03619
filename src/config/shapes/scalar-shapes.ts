import { didYouMean, joinWords, quote } from '#yaml/wording.ts';
import { report, scalarOf, warn, wrongKind } from './place.ts';
import { list, mapped, type Shape } from './shape.ts';

/** A fault follows the key path: "server.port: is text". */
export type Parsed<T> = { readonly value: T } | { readonly fault: string };

interface TextOptions<T> {
  readonly type: string;
  readonly example: string;
  readonly parse: (text: string) => Parsed<T>;
}

/** A fault of `parse` quotes the value only if it cannot be a secret. */
export function text<T>({ type, example, parse }: TextOptions<T>): Shape<T> {
  return {
    type,
    async read(place) {
      const value = scalarOf(place);
      if (typeof value !== 'string') return wrongKind(place, `text, e.g. ${example}${isQuotable(value) ? ', in quotes' : ''}`);
      const parsed = parse(value);
      return 'value' in parsed ? parsed.value : report(place, parsed.fault);
    },
  };
}

function isQuotable(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

interface PlainTextOptions {
  readonly type: string;
  readonly example: string;
  /** A fault, as of `parse`. */
  readonly refuse: (text: string) => string | undefined;
}

export function plainText({ type, example, refuse }: PlainTextOptions): Shape<string> {
  const parse = (value: string): Parsed<string> => {
    const fault = refuse(value);
    return fault === undefined ? { value } : { fault };
  };
  return text({ type, example, parse });
}

/** 1 to `atMost` characters, without control characters and outer white space. */
export function label({ type, example, atMost = 255, refuse }: LabelOptions): Shape<string> {
  return plainText({
    type,
    example,
    refuse: (value) => {
      if (value === '') return `is empty; write e.g. ${example}`;
      if (value.length > atMost) return `is longer than ${atMost} characters`;
      if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return 'holds a control character or a line break';
      return value === value.trim() ? refuse?.(value) : 'begins or ends with white space';
    },
  });
}

interface LabelOptions extends Omit<PlainTextOptions, 'refuse'>, Partial<Pick<PlainTextOptions, 'refuse'>> {
  readonly atMost?: number;
}

/** YAML 1.2 reads `yes`, `no`, `on` and `off` as text. */
export const flag: Shape<boolean> = {
  type: 'true or false',
  async read(place) {
    const value = scalarOf(place);
    return typeof value === 'boolean' ? value : wrongKind(place, 'true or false, without quotes');
  },
};

export function integer(from: number, to: number): Shape<number> {
  const type = `whole number, ${from} to ${to}`;
  return {
    type,
    async read(place) {
      const value = scalarOf(place);
      const isQuoted = typeof value === 'string' && /^\d+$/u.test(value);
      if (typeof value !== 'number') return wrongKind(place, `a ${type}${isQuoted ? '; take the quotes away' : ''}`);
      if (Number.isInteger(value) && value >= from && value <= to) return value;
      return report(place, `${place.node.json} is out of range; write a ${type}`);
    },
  };
}

export function choice<const T extends string>(...words: readonly T[]): Shape<T> {
  const wanted = words.length === 1 ? `${words[0]}` : `one of ${joinWords(words)}`;
  return text({
    type: words.join(', '),
    example: words[0] ?? '',
    parse: (value) => {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return { value: word };
      return { fault: `${quote(value)} is unknown here; write ${wanted}${didYouMean(value, words)}` };
    },
  });
}

const milliseconds = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const bytes = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Milliseconds. `atMost` in the same form (`300s`). */
export function duration(atMost: string): Shape<number> {
  return quantity({ type: 'duration', units: milliseconds, example: '300s', atMost });
}

/** 0 has no unit. */
export function orZero(shape: Shape<number>): Shape<number> {
  return {
    type: `${shape.type}, or 0`,
    read: async (place) => (scalarOf(place) === 0 ? 0 : await shape.read(place)),
  };
}

/** Bytes. `atMost` in the same form (`10MiB`). */
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
      return { fault: `${quote(value)} is no ${type}; write e.g. ${example} (units ${joinWords(Object.keys(units))})` };
    if (count < 1) return { fault: `${quote(value)} is too small; write a ${type} above zero, e.g. ${example}` };
    return count > limit ? { fault: `${quote(value)} is too large; write at most ${atMost}` } : { value: count };
  };
  const shape = text({ type: `${type}, at most ${atMost}`, example, parse });
  return {
    ...shape,
    async read(place) {
      if (typeof scalarOf(place) !== 'number') return shape.read(place);
      return report(place, `${place.node.json} has no unit; write e.g. ${example} (units ${joinWords(Object.keys(units))})`);
    },
  };
}

function toNumber(value: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, count, unit] = /^(\d{1,15})([A-Za-z]+)$/u.exec(value) ?? [];
  if (count === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined;
  return Number(count) * (units[unit] ?? 0);
}

/** As `#adapters/paths/path-glob.ts` reads them. */
export const pathGlobs = list(
  mapped(
    label({
      type: 'glob',
      example: '"restconf/data/**"',
      atMost: 1024,
      refuse: (glob) =>
        /[?#]/u.test(glob) ? 'has a "?" or "#"; a glob has only * and **, and matches the path before its "?"' : undefined,
    }),
    (glob, place) => {
      if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(glob))
        warn(place, 'begins with a scheme, and no path does: write the path alone, such as restconf/data/**');
      return glob;
    },
  ),
);

/** The gateway writes them (RFC 9112, RFC 9110 section 7.6.1). */
const framing = ['connection', 'content-length', 'content-encoding', 'expect', 'host', 'http2-settings'];
const hopByHop = ['keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
const framingHeaders = new Set([...framing, ...hopByHop]);

/** `more`: further headers, in lower case, that the gateway itself sets there. */
export function headerNameFault(name: string, more: ReadonlySet<string>): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/u.test(name)) return 'is no header name (RFC 9110 section 5.1)';
  const lower = name.toLowerCase();
  const isReserved = framingHeaders.has(lower) || more.has(lower) || lower.startsWith('proxy-');
  return isReserved ? 'is a header that the gateway itself sets or forwards' : undefined;
}
