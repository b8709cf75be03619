import { type JsonHandler, JsonScanner, type JsonSpanKind } from '#json/json-scanner.ts';
import { decodeJsonString } from '#json/json-string.ts';
import { InstanceWriter } from './instance-writer.ts';

const partSize = 64 * 1024;
/** Of a far side's reply; more than any reader of it takes. */
const maxDepth = 1_000_000;
const content = Buffer.from('"content"');
const nothing: Buffer = Buffer.alloc(0);

interface InstanceDataOptions {
  /** Receives the answer piece by piece, each time before `push` or `end` returns. A piece keeps its bytes until the next `push`. */
  readonly write: (chunk: Buffer) => void;
  /** Bytes of one instance that are held for repeated members to be merged; 8 MiB unless given. */
  readonly holdLimit?: number;
}

/** A transformation under way. Throws JsonSyntaxError where what came is not JSON, or is incomplete at `end`. */
interface InstanceData {
  push(chunk: Buffer): void;
  end(): void;
}

/**
 * Turns a far side's JSON (UTF-8, in any chunking) into the answer of a query, `{"result":[{"instance_data":{…}},…]}`:
 * an instance for each entry, object or leaf of the outermost members, strings as they are, all else as its exact text in a
 * string. A member that an instance repeats becomes one array. Memory is bounded by `holdLimit`.
 */
export function createInstanceData(options: InstanceDataOptions): InstanceData {
  const writer = new InstanceWriter({ write: options.write, holdLimit: options.holdLimit ?? 8 * 1024 * 1024 });
  const finder = new InstanceFinder(writer);
  return {
    push(chunk) {
      writer.reuseOutput();
      for (let i = 0; i < chunk.length; i += partSize) finder.push(chunk.subarray(i, i + partSize));
    },
    end() {
      finder.finish();
    },
  };
}

/** Where in the reply the next span stands: what it is depends on that alone. */
type Place = 'root' | 'members' | 'entries' | 'instance' | 'single';

/** Finds the instances in the reply. The scanner reports only the level that the current place is about. */
class InstanceFinder implements JsonHandler {
  readonly #writer: InstanceWriter;
  readonly #scanner: JsonScanner;
  #place: Place = 'root';
  /** The place around the instance that is open. */
  #outer: Place = 'root';
  /** The raw name token that single values are named after. */
  #name: Buffer = content;
  #memberCount = 0;

  constructor(writer: InstanceWriter) {
    this.#writer = writer;
    this.#scanner = new JsonScanner({ maxDepth, eventDepth: 1, handler: this });
  }

  push(part: Buffer): void {
    this.#writer.beginPart(part, this.#scanner.offset);
    this.#scanner.push(part);
    this.#writer.endPart();
  }

  finish(): void {
    this.#writer.beginPart(nothing, this.#scanner.offset);
    this.#scanner.end();
    this.#writer.finish();
  }

  begin(kind: JsonSpanKind, start: number, level: number): void {
    if (this.#place === 'instance') {
      if (kind === 'key') this.#writer.beginName(start);
      else this.#writer.beginValue(start, kind === 'string');
    } else if (kind === 'key') {
      this.#writer.hold(start);
      this.#memberCount++;
    } else if (kind === 'object' && (this.#place === 'root' || this.#isCollection(level))) {
      this.#enter('members', level);
    } else if (kind === 'array' && this.#place !== 'entries') {
      this.#enter('entries', level);
    } else {
      this.#openInstance(kind, start, level);
    }
  }

  end(kind: JsonSpanKind, end: number, level: number): void {
    if (this.#place === 'single') {
      this.#writer.endValue(end);
      this.#writer.close(end);
      this.#place = this.#outer;
    } else if (this.#place === 'instance') {
      this.#endInInstance(kind, end, level);
    } else if (kind === 'key') {
      this.#name = this.#writer.take(end);
    } else {
      this.#leave(level === 1 ? 'root' : 'members', level);
    }
  }

  #endInInstance(kind: JsonSpanKind, end: number, level: number): void {
    if (kind === 'key') {
      this.#writer.endName(end);
    } else if (level === this.#scanner.eventDepth) {
      this.#writer.endValue(end);
    } else {
      this.#writer.close(end);
      this.#leave(this.#outer, level);
    }
  }

  #openInstance(kind: JsonSpanKind, start: number, level: number): void {
    this.#outer = this.#place;
    if (kind === 'object') {
      this.#writer.open(start);
      this.#enter('instance', level);
    } else {
      this.#writer.open(start, this.#name);
      this.#writer.beginValue(start, kind === 'string');
      this.#place = 'single';
    }
  }

  #enter(place: Place, level: number): void {
    this.#place = place;
    this.#scanner.eventDepth = level + 1;
  }

  #leave(place: Place, level: number): void {
    this.#place = place;
    this.#scanner.eventDepth = level;
  }

  /** NSO's legacy wrapper of several roots: the first member of the whole, unwrapped. */
  #isCollection(level: number): boolean {
    if (level !== 2 || this.#memberCount !== 1 || this.#place !== 'members') return false;
    return decodeJsonString(this.#name) === 'collection';
  }
}
