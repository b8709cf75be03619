import type { Expression } from '#workflows/workflow.ts';
import { JsonValue } from './json-value.ts';

/** Expressions that are evaluated at one moment, on one value. */
export interface Program {
  readonly expressions: readonly string[];
  /** What each expression is, for errors. */
  readonly labels: readonly string[];
  /** Variables that an expression mentions, without `$`. */
  readonly names: ReadonlySet<string>;
}

/** Where the value of an expression comes from. */
export type Slot = { readonly constant: JsonValue } | { readonly same: true } | { readonly result: number };

/** The expression, fit to be part of another one. A comment at its end ends with its line. */
export function enclosed(jq: string): string {
  return `(${jq}\n)`;
}

const mention = /\$([A-Za-z_]\w*)/gu;

/** Names after `$`. A text within a string counts too, which costs nothing but the value of a variable. */
export function mentions(jq: string): readonly string[] {
  return Array.from(jq.matchAll(mention), ([, name = '']) => name);
}

export function isIdentity(expression: Expression): boolean {
  return expression.jq.trim() === '.';
}

const constants = new WeakMap<Expression, JsonValue>();

/** The value of a constant expression: one object, however often it is asked for. */
export function constantOf(expression: Expression): JsonValue | undefined {
  if (expression.constant === undefined) return undefined;
  const known = constants.get(expression) ?? new JsonValue(expression.constant);
  constants.set(expression, known);
  return known;
}

/** Collects the expressions of a program. What is constant or the identity needs none. */
export class ProgramBuilder {
  readonly #expressions: string[] = [];
  readonly #labels: string[] = [];
  readonly #names = new Set<string>();

  /** `wrap` makes the jq that is evaluated from the expression's own. Variables that `wrap` binds are in `bound`. */
  add(label: string, expression: Expression, wrap = (jq: string): string => jq, bound: readonly string[] = []): Slot {
    const constant = constantOf(expression);
    if (constant !== undefined) return { constant };
    if (isIdentity(expression)) return { same: true };
    return this.addText(label, wrap(expression.jq), mentions(expression.jq), bound);
  }

  addText(label: string, jq: string, names: readonly string[], bound: readonly string[] = []): Slot {
    for (const name of names) if (!bound.includes(name)) this.#names.add(name);
    this.#labels.push(label);
    return { result: this.#expressions.push(jq) - 1 };
  }

  get program(): Program {
    return { expressions: this.#expressions, labels: this.#labels, names: this.#names };
  }
}

/** The value of a slot. `same` is the value of the identity. */
export function valueIn(slot: Slot, results: readonly JsonValue[], same: JsonValue): JsonValue {
  if ('constant' in slot) return slot.constant;
  if ('same' in slot) return same;
  const value = results[slot.result];
  if (value === undefined) throw new TypeError('An evaluation has fewer results than expressions.');
  return value;
}

/** Caches what `make` makes of an object. */
export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, Made>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
