import { groupByName, type NameGroups } from '#json/member-names.ts';
import { GrowingBytes } from './growing-bytes.ts';

/** Most names of an instance that are kept to compare them with those of the next one. */
const maxShapeLength = 256;
/** Numbers for each member: the offsets of its name, its value and its end, and whether the value is a string. */
const fields = 4;

const comma = 0x2c;
const nothing: Buffer = Buffer.alloc(0);

/** The complete members of an instance in the output. Its offsets count from the beginning of the instance. */
export class HeldMembers {
  #count = 0;
  #places = new Uint32Array(4 * fields);
  /** Tokens of the names of the last instance without repetitions, each with its colon. */
  #shape = nothing;
  #shapeCount = 0;

  add(name: number, value: number, end: number, isString: boolean): void {
    const at = this.#count * fields;
    if (at === this.#places.length) {
      const larger = new Uint32Array(2 * at);
      larger.set(this.#places);
      this.#places = larger;
    }
    const places = this.#places;
    places[at] = name;
    places[at + 1] = value;
    places[at + 2] = end;
    places[at + 3] = isString ? 1 : 0;
    this.#count += 1;
  }

  /** Joins the members of the same name in the instance, from `start` to the end of the output, and forgets them all. */
  join(output: GrowingBytes, start: number): void {
    if (this.#count > 1 && !this.#hasShape(output.bytes, start)) {
      const instance = output.bytes.subarray(start, output.size);
      const groups = this.#group(instance);
      if (groups === undefined) this.#keepShape(instance);
      else {
        const joined = this.#join(instance, groups);
        output.size = start;
        output.add(joined.bytes, 0, joined.size);
      }
    }
    this.#count = 0;
  }

  /** The names are those of the last instance without repetitions. Entries of a list mostly have the same names. */
  #hasShape(bytes: Buffer, start: number): boolean {
    const shape = this.#shape;
    if (this.#count !== this.#shapeCount) return false;
    let known = 0;
    for (let index = 0; index < this.#count; index++) {
      const end = start + this.#place(index, 1);
      for (let at = start + this.#place(index, 0); at < end; at++, known++) if (bytes[at] !== shape[known]) return false;
    }
    return known === shape.length;
  }

  #keepShape(bytes: Buffer): void {
    if (this.#count > maxShapeLength) return;
    const names = Array.from({ length: this.#count }, (_, index) => bytes.subarray(this.#place(index, 0), this.#place(index, 1)));
    this.#shape = Buffer.concat(names);
    this.#shapeCount = this.#count;
  }

  #place(index: number, field: number): number {
    return this.#places[index * fields + field] as number;
  }

  #group(bytes: Buffer): NameGroups | undefined {
    return groupByName({
      bytes,
      count: this.#count,
      start: (index) => this.#place(index, 0),
      // One byte, the colon, is between the name and the value.
      end: (index) => this.#place(index, 1) - 1,
    });
  }

  /** The instance with one property for each name, in the place of its first member. */
  #join(bytes: Buffer, { next, repeats }: NameGroups): GrowingBytes {
    const joined = new GrowingBytes(Infinity);
    // A string that becomes an element of an array in a string is escaped, which at most doubles it.
    joined.reserve(2 * bytes.length);
    for (let index = 0; index < this.#count; index++) {
      if (repeats[index] === 1) continue;
      if (joined.size > 0) joined.put(comma);
      const isRepeated = next[index] !== 0;
      joined.add(bytes, this.#place(index, 0), this.#place(index, isRepeated ? 1 : 2));
      if (isRepeated) this.#addArray(joined, bytes, index, next);
    }
    joined.add(bytes, this.#place(this.#count - 1, 2), bytes.length);
    return joined;
  }

  /** Adds the values of a name as a string with the text of an array. */
  #addArray(joined: GrowingBytes, bytes: Buffer, first: number, next: Uint32Array): void {
    joined.text('"[');
    for (let index = first; ; index = next[index] as number) {
      const from = this.#place(index, 1);
      const to = this.#place(index, 2);
      if (this.#place(index, 3) === 1) joined.addEscaped(bytes, from, to);
      // A value that is no string is already escaped between quotes.
      else joined.add(bytes, from + 1, to - 1);
      if (next[index] === 0) break;
      joined.put(comma);
    }
    joined.text(']"');
  }
}
