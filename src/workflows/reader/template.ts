import type { Located } from '#yaml/located.ts';
import type { Expression } from '../workflow.ts';
import type { Context } from './context.ts';
import { assigns, expressionIn, quoted } from './jq-source.ts';
import type { Scope } from './scope.ts';

/** In place of a value that has a problem. */
export const nothing: Expression = { jq: 'null', constant: 'null' };

const none: ReadonlyMap<Located, Expression> = new Map();

/**
 * Compiles a value of the document, in which texts may be expressions, into one jq text. `replaced` has the expressions of values within
 * it that are no templates.
 */
export function template(context: Context, node: Located, scope: Scope, replaced = none): Expression {
  const found = replaced.get(node);
  if (found !== undefined) return found;
  switch (node.kind) {
    case 'object':
      return collection(
        '{}',
        node.members.map(({ name, value }) => [`${quoted(name)}:`, template(context, value, scope, replaced)]),
      );
    case 'array':
      return collection(
        '[]',
        node.items.map((item) => ['', template(context, item, scope, replaced)]),
      );
    case 'string':
      return textTemplate(context, node, node.value, scope);
    case 'number':
      // jq computes `-0`, and loses its sign.
      return { jq: node.json.startsWith('-0') ? `(${quoted(node.json)} | fromjson)` : node.json, constant: node.json };
    default:
      return { jq: node.json, constant: node.json };
  }
}

type Part = readonly [label: string, value: Expression];

/** An object or a list. Grows by concatenation, so that V8 shares the texts of nested values. */
export function collection(brackets: '{}' | '[]', parts: readonly Part[]): Expression {
  let jq = brackets.charAt(0);
  let constant: string | undefined = jq;
  let separator = '';
  for (const [label, value] of parts) {
    jq += `${separator}${label}${inner(value)}`;
    constant =
      constant === undefined || value.constant === undefined ? undefined : `${constant}${separator}${label}${value.constant}`;
    separator = ',';
  }
  const end = brackets.charAt(1);
  return { jq: jq + end, ...(constant === undefined ? {} : { constant: constant + end }) };
}

/** An expression as part of another one. A comment at its end ends with its line. */
export function inner({ jq, constant }: Expression): string {
  return constant === undefined ? `(${jq}\n)` : jq;
}

function textTemplate(context: Context, node: Located, text: string, scope: Scope): Expression {
  const found = expressionIn(text);
  if (typeof found === 'object') return checked(context, node, found.expression, scope);
  if (found === undefined && context.loose?.(text, scope) === true) {
    const one = `[limit(2; (${text}\n))] | if length == 1 then .[0] else error end`;
    return { jq: `try (${one}) catch ${quoted(text)}` };
  }
  if (found === 'partial') reportPartial(context, node, text);
  return { jq: quoted(text), constant: quoted(text) };
}

function reportPartial({ reading, loose }: Context, node: Located, text: string): void {
  if (/^\s*\$\{.*\}\s*$/su.test(text))
    reading.problem(node, `holds more than one \${ }; write one expression, such as \${ "\\(.first) and \\(.second)" }`);
  else if (loose === undefined)
    reading.warning(node, `has \${ } within a longer text, which stays as it is; write \${ "text \\(.name)" } to insert a value`);
}

/** A member that is an expression by its meaning, such as `when`: `${ }` may be left out. */
export function expression(context: Context, node: Located, scope: Scope): Expression {
  if (node.kind !== 'string') {
    context.reading.wrongKind(node, 'an expression in quotes, such as ".devices"');
    return nothing;
  }
  const found = expressionIn(node.value);
  return checked(context, node, typeof found === 'object' ? found.expression : node.value.trim(), scope);
}

/** An expression that decides. `=` in one is an assignment, which is always true. */
export function condition(context: Context, node: Located, scope: Scope): Expression {
  const read = expression(context, node, scope);
  if (assigns(read.jq)) context.reading.warning(node, 'assigns with "=", whose result counts as true; compare with "=="');
  return read;
}

/** An expression or an object of expressions, as `input.from`, `output.as` and `export.as` have it. */
export function expressionOrObject(context: Context, node: Located, scope: Scope): Expression {
  return node.kind === 'object' ? template(context, node, scope) : expression(context, node, scope);
}

/** A text that may be an expression in `${ }`. */
export function textOrExpression(context: Context, node: Located, scope: Scope, wanted: string): Expression {
  if (node.kind === 'string') return template(context, node, scope);
  context.reading.wrongKind(node, wanted);
  return nothing;
}

function checked({ reading }: Context, node: Located, jq: string, scope: Scope): Expression {
  if (jq === '') {
    reading.problem(node, 'is an empty expression; write . for the whole input');
    return nothing;
  }
  reading.expression(node, jq, scope);
  // A comment at the end must not take in what follows.
  return { jq: jq.includes('#') ? `(${jq}\n)` : jq };
}

/**
 * The expression of a text that is nothing else, where the DSL wants it on one line; undefined for other values. Such places are addresses,
 * durations and attributes of events.
 */
export function lineExpression(context: Context, node: Located, scope: Scope): Expression | undefined {
  if (node.kind !== 'string') return undefined;
  const found = expressionIn(node.value);
  if (typeof found !== 'object') return undefined;
  if (/[\n\r\u2028\u2029]/u.test(node.value.trim()))
    context.reading.problem(node, 'has several lines, which the DSL does not allow here; write the expression on one line');
  return checked(context, node, found.expression, scope);
}
