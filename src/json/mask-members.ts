import { setImmediate } from 'node:timers/promises';
import { type JsonHandler, JsonScanner, type JsonSpanKind } from './json-scanner.ts';

/**
 * Whether readers may not see the value of a member. `path`: the names that lead to it from the outside in, its own last; items of an array
 * have the names of the array.
 */
type HidesMember = (name: string, path: () => readonly string[]) => boolean;

export const maskedMember = '***';

/**
 * The JSON text with `"***"` for the value of each member that `hides` names, an object or an array as a whole. All else stays as it is
 * written: digits, escapes, spaces, members that repeat. Throws JsonSyntaxError for a text that is no JSON.
 */
export function maskMembers(text: string, hides: HidesMember): string {
  return new Masking(Buffer.from(text), hides).run();
}

/** As `maskMembers`; the event loop continues between parts of a long text. */
export async function maskMembersInSteps(text: string, hides: HidesMember): Promise<string> {
  return await new Masking(Buffer.from(text), hides).runInSteps();
}

/** Bytes, some milliseconds. */
const step = 65_536;

const credential =
  '(?:password|authentication|(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:api-?key|auth-token|access-token))';
const wholeName = new RegExp(`^${credential}$`, 'iu');
/** An escape may hide a name. */
const somewhere = new RegExp(`${credential}"|\\\\u`, 'iu');

/** True for `password`, `authentication` and headers with credentials, in any case, and with the prefix of a YANG module. */
export function isCredential(name: string): boolean {
  return wholeName.test(name.slice(name.lastIndexOf(':') + 1));
}

/** False: no member of the JSON text has a name for which `isCredential` is true. A look at the text alone, which is quick. */
export function hasCredential(text: string): boolean {
  return somewhere.test(text);
}

class Masking implements JsonHandler {
  readonly #bytes: Buffer;
  readonly #hides: HidesMember;
  readonly #scanner: JsonScanner;
  readonly #parts: string[] = [];
  /** By level; undefined for the items of an array. */
  readonly #names: (string | undefined)[] = [];
  #written = 0;
  #start = 0;
  /** The level of the member that is hidden, or 0. */
  #hidden = 0;

  constructor(bytes: Buffer, hides: HidesMember) {
    this.#bytes = bytes;
    this.#hides = hides;
    this.#scanner = new JsonScanner({ maxDepth: Infinity, eventDepth: Infinity, handler: this });
  }

  run(): string {
    this.#scanner.push(this.#bytes);
    return this.#end();
  }

  async runInSteps(): Promise<string> {
    for (let start = 0; start < this.#bytes.length; start += step) {
      if (start > 0) await setImmediate();
      this.#scanner.push(this.#bytes.subarray(start, start + step));
    }
    return this.#end();
  }

  #end(): string {
    this.#scanner.end();
    return this.#parts.join('') + this.#bytes.toString('utf8', this.#written);
  }

  begin(kind: JsonSpanKind, start: number, level: number): void {
    this.#start = start;
    if (kind === 'key') return;
    if (level === this.#hidden) this.#scanner.eventDepth = level;
    else if (kind === 'object' || kind === 'array') this.#names[level + 1] = undefined;
  }

  end(kind: JsonSpanKind, end: number, level: number): void {
    if (kind === 'key') this.#key(JSON.parse(this.#bytes.toString('utf8', this.#start, end)) as string, level);
    else if (level === this.#hidden) this.#mask(end);
  }

  whole(kind: 'key' | 'string', start: number, end: number, level: number): void {
    if (kind === 'key') this.#key(this.#bytes.toString('utf8', start + 1, end - 1), level);
    else if (level === this.#hidden) {
      this.#start = start;
      this.#mask(end);
    }
  }

  #key(name: string, level: number): void {
    this.#names[level] = name;
    const path = (): readonly string[] => this.#names.slice(0, level + 1).filter((each) => each !== undefined);
    if (this.#hides(name, path)) this.#hidden = level;
  }

  #mask(end: number): void {
    this.#parts.push(this.#bytes.toString('utf8', this.#written, this.#start), `"${maskedMember}"`);
    this.#written = end;
    this.#hidden = 0;
    this.#scanner.eventDepth = Infinity;
  }
}
