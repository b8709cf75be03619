import { principal } from './session.ts';

/** A call of the explorer, without body and headers: they may have secrets, and the browser keeps what is here. */
export interface EarlierCall {
  readonly kind: string;
  readonly adapter: string;
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  /** When it was sent last (RFC 3339). */
  readonly at: string;
  /** Of a saved one. */
  readonly name?: string;
}

const most = 50;

type Shelf = 'history' | 'saved';

function keyOf(shelf: Shelf): string {
  const caller = principal.value;
  return `orchestration-gateway ${shelf} ${typeof caller === 'string' ? '' : caller.username}`;
}

/** What this browser keeps for the caller, the newest first. */
export function earlierCalls(shelf: Shelf): readonly EarlierCall[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(keyOf(shelf)) ?? '[]');
    return Array.isArray(list) ? list.filter(isEarlierCall) : [];
  } catch {
    // A browser that keeps nothing, or a text of something else.
    return [];
  }
}

const members = ['kind', 'adapter', 'method', 'path', 'accept', 'at'] as const;

function isEarlierCall(value: unknown): value is EarlierCall {
  if (typeof value !== 'object' || value === null) return false;
  return members.every((member) => typeof (value as Readonly<Record<string, unknown>>)[member] === 'string');
}

/** Puts a call on top. The same call is there once. */
export function keepCall(shelf: Shelf, call: EarlierCall): void {
  const others = earlierCalls(shelf).filter((one) => !isSame(one, call));
  write(shelf, [call, ...others].slice(0, most));
}

export function forgetCall(shelf: Shelf, call: EarlierCall): void {
  write(
    shelf,
    earlierCalls(shelf).filter((one) => !isSame(one, call)),
  );
}

function isSame(one: EarlierCall, other: EarlierCall): boolean {
  return (['kind', 'adapter', 'method', 'path', 'accept'] as const).every((member) => one[member] === other[member]);
}

function write(shelf: Shelf, list: readonly EarlierCall[]): void {
  try {
    localStorage.setItem(keyOf(shelf), JSON.stringify(list));
  } catch {
    // The browser keeps nothing. The explorer works all the same.
  }
}
