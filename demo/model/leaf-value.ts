import type { Scalar } from './data-tree.ts';
import type { LeafType } from './schema.ts';

const uint64Limit = 18_446_744_073_709_551_615n;

type Reader = (json: unknown) => Scalar | undefined;

const readers: Readonly<Record<Extract<LeafType, string>, Reader>> = {
  string: (json) => (typeof json === 'string' ? json : undefined),
  boolean: (json) => (typeof json === 'boolean' ? json : undefined),
  empty: (json) => (json === null || (Array.isArray(json) && json.length === 1 && json[0] === null) ? null : undefined),
  uint8: (json) => readInteger(json, 255),
  uint16: (json) => readInteger(json, 65_535),
  uint32: (json) => readInteger(json, 4_294_967_295),
  uint64: readUint64,
  decimal64: readDecimal,
};

/** The value of a JSON value for `type` (RFC 7951, section 6); undefined where it is not valid. */
export function readScalar(type: LeafType, json: unknown): Scalar | undefined {
  return typeof type === 'object' ? readText(type, json) : readers[type](json);
}

function readInteger(json: unknown, limit: number): number | undefined {
  return typeof json === 'number' && Number.isInteger(json) && json >= 0 && json <= limit ? json : undefined;
}

function readText(type: Exclude<LeafType, string>, json: unknown): string | undefined {
  if (typeof json !== 'string') return undefined;
  return 'oneOf' in type && !type.oneOf.includes(json) ? undefined : json;
}

/** 64-bit values are strings in JSON; the bare numbers of legacy clients are accepted where they are exact. */
function readUint64(json: unknown): string | undefined {
  const text = typeof json === 'number' && Number.isSafeInteger(json) ? String(json) : json;
  return typeof text === 'string' && /^\d{1,20}$/u.test(text) && BigInt(text) <= uint64Limit ? String(BigInt(text)) : undefined;
}

function readDecimal(json: unknown): string | undefined {
  const text = typeof json === 'number' ? String(json) : json;
  return typeof text === 'string' && /^-?\d{1,13}(\.\d{1,5})?$/u.test(text) ? text : undefined;
}

/** The JSON value of an XML element's text. Text that is not valid is returned unchanged, and `readScalar` refuses it. */
export function jsonOfText(type: LeafType, text: string): unknown {
  if (type === 'empty') return text === '' ? [null] : text;
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  if (type === 'uint8' || type === 'uint16' || type === 'uint32') return /^\d+$/u.test(text) ? Number(text) : text;
  return text;
}

/** Whether legacy JSON writes the value as a bare number although it has 64 bits. */
export function isLongNumber(type: LeafType): boolean {
  return type === 'uint64' || type === 'decimal64';
}
