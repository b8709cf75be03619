import { mostProblems } from '#json/problem-list.ts';
import type { Located, TextPlace } from '#yaml/located.ts';
import type { Position } from '#yaml/yaml-text.ts';
import { type Scope, variablesOf } from './scope.ts';

/** One problem of a workflow document. Line and column begin at 1. */
export interface WorkflowProblem extends Position {
  /** RFC 6901; empty for the whole document. */
  readonly pointer: string;
  /** What is wrong and what to do. */
  readonly detail: string;
}

/** An expression that has to compile. */
interface WrittenExpression {
  readonly place: TextPlace;
  readonly jq: string;
  readonly variables: readonly string[];
}

/** Longer pointers are cut: only people read them. */
const longestPointer = 1_024;

/** One pass over one document. Collects problems, warnings and expressions. */
export class DocumentReading {
  readonly #positionOf: (offset: number) => Position;
  readonly #problems = new Map<string, WorkflowProblem>();
  readonly #warnings = new Map<string, WorkflowProblem>();
  readonly #expressions: WrittenExpression[] = [];
  readonly #unreadable = new Set<string>();

  constructor(positionOf: (offset: number) => Position) {
    this.#positionOf = positionOf;
  }

  get problems(): readonly WorkflowProblem[] {
    return inOrder(this.#problems);
  }

  /** True where further problems would not be listed. */
  get isFull(): boolean {
    return this.#problems.size >= mostProblems;
  }

  get warnings(): readonly WorkflowProblem[] {
    return inOrder(this.#warnings);
  }

  get expressions(): readonly WrittenExpression[] {
    return this.#expressions;
  }

  positionOf(offset: number): Position {
    return this.#positionOf(offset);
  }

  problem(place: TextPlace, detail: string): void {
    if (!this.#unreadable.has(place.pointer)) this.#add(this.#problems, place, detail);
  }

  /** Reports a value that could not be read. Further problems of it would mislead. */
  unreadable(place: TextPlace, detail: string): void {
    this.#add(this.#problems, place, detail);
    this.#unreadable.add(place.pointer);
  }

  warning(place: TextPlace, detail: string): void {
    this.#add(this.#warnings, place, detail);
  }

  expression(place: TextPlace, jq: string, scope: Scope): void {
    this.#expressions.push({ place, jq, variables: variablesOf(scope) });
  }

  /** Reports a value of the wrong kind; `wanted` completes "write …". Returns undefined. */
  wrongKind(node: Located, wanted: string): undefined {
    this.problem(node, `is ${kinds[node.kind]}; write ${wanted}`);
    return undefined;
  }

  /** A definition that several tasks use is read for each of them: its problems count once. */
  #add(list: Map<string, WorkflowProblem>, { pointer, offset }: TextPlace, detail: string): void {
    if (list.size >= mostProblems) return;
    const shown = pointer.length > longestPointer ? `${pointer.slice(0, longestPointer)}…` : pointer;
    list.set(`${shown} ${detail}`, { pointer: shown, detail, ...this.#positionOf(offset) });
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

function inOrder(list: ReadonlyMap<string, WorkflowProblem>): readonly WorkflowProblem[] {
  return [...list.values()].toSorted((a, b) => a.line - b.line || a.column - b.column);
}
