import { type Located, type LocateOptions, locate, type TextPosition } from './located.ts';
import { excessOf, type Position, parseYaml, positionAfter } from './yaml-text.ts';

/** Line and column begin at 1. */
export interface DocumentProblem extends Position {
  /** Empty for the whole document. */
  readonly pointer: string;
  /** What is wrong and what to do. */
  readonly detail: string;
}

/** Only people read them. */
const maxPointerLength = 1_024;

/** Collects the problems of one document. */
export class DocumentReading {
  readonly positionOf: (offset: number) => Position;
  readonly #most: number;
  readonly #problems = new Map<string, DocumentProblem>();
  readonly #warnings = new Map<string, DocumentProblem>();

  /** `most`: further problems are not listed. */
  constructor(positionOf: (offset: number) => Position, most = 100) {
    this.positionOf = positionOf;
    this.#most = most;
  }

  get problems(): readonly DocumentProblem[] {
    return inOrder(this.#problems);
  }

  get isFull(): boolean {
    return this.#problems.size >= this.#most;
  }

  get warnings(): readonly DocumentProblem[] {
    return inOrder(this.#warnings);
  }

  /** Returns undefined. Of a value that cannot be read, this alone is the problem. */
  problem(place: TextPosition, detail: string): undefined {
    this.#add(this.#problems, place, place.fault ?? detail);
    return undefined;
  }

  warning(place: TextPosition, detail: string): void {
    this.#add(this.#warnings, place, detail);
  }

  /** `wanted` completes "write …". */
  wrongKind(node: Located, wanted: string): undefined {
    return this.problem(node, `is ${kindOf(node)}; write ${wanted}`);
  }

  /** Several readers may read one value: its problems count once. */
  #add(list: Map<string, DocumentProblem>, { pointer, offset }: TextPosition, detail: string): void {
    if (list.size >= this.#most) return;
    const shown = pointer.length > maxPointerLength ? `${pointer.slice(0, maxPointerLength)}…` : pointer;
    list.set(`${shown} ${detail}`, { pointer: shown, detail, ...this.positionOf(offset) });
  }
}

const kinds: Readonly<Record<Located['kind'], string>> = {
  object: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  null: 'empty',
};

export function kindOf({ kind }: Located): string {
  return kinds[kind];
}

function inOrder(list: ReadonlyMap<string, DocumentProblem>): readonly DocumentProblem[] {
  return [...list.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
}

interface OpenDocument {
  readonly reading: DocumentReading;
  readonly root: Located;
}

/** A text of YAML or JSON that may be hostile. */
export function openDocument(
  text: string,
  options?: LocateOptions,
): OpenDocument | { readonly problems: readonly DocumentProblem[] } {
  const excess = excessOf(text);
  if (excess !== undefined)
    return { problems: [{ pointer: '', detail: excess.message, ...positionAfter(text.slice(0, excess.offset)) }] };
  const yaml = parseYaml(text);
  if (yaml.faults.length > 0)
    return {
      problems: yaml.faults.slice(0, 100).map(({ message, ...position }) => ({ pointer: '', detail: message, ...position })),
    };
  const reading = new DocumentReading(yaml.positionOf);
  const { root, faults, excess: left } = locate(yaml, options);
  for (const fault of faults) reading.problem(fault, fault.message);
  return left === undefined ? { reading, root } : { problems: reading.problems };
}
