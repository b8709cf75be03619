import type { Located } from '#yaml/located.ts';
import type { Expression } from '../workflow.ts';
import { type Context, type Scope, variablesOf } from './context.ts';
import { assigns, expressionIn, jqString } from './jq-source.ts';

/** For a value with a problem. */
export const nothing: Expression = { jq: 'null', constant: 'null' };

const none: ReadonlyMap<Located, Expression> = new Map();

/** One jq text for a value in which texts may be expressions. `replaced`: values in it that are no templates. */
export function template(context: Context, node: Located, scope: Scope, replaced = none): Expression {
  const found = replaced.get(node);
  if (found !== undefined) return found;
  switch (node.kind) {
    case 'object':
      return collection(
        '{}',
        node.members.map(({ name, value }) => [`${jqString(name)}:`, template(context, value, scope, replaced)]),
      );
    case 'array':
      return collection(
        '[]',
        node.items.map((item) => ['', template(context, item, scope, replaced)]),
      );
    case 'string':
      return textTemplate(context, node, node.value, scope);
    case 'number':
      // jq computes `-0` to 0.
      return { jq: node.json.startsWith('-0') ? `(${jqString(node.json)} | fromjson)` : node.json, constant: node.json };
    default:
      return { jq: node.json, constant: node.json };
  }
}

type Part = readonly [label: string, value: Expression];

/** Concatenation lets V8 share the texts of nested values. */
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

/** The line break ends a comment. */
export function inner({ jq, constant }: Expression): string {
  return constant === undefined ? `(${jq}\n)` : jq;
}

function textTemplate(context: Context, node: Located, text: string, scope: Scope): Expression {
  const found = expressionIn(text);
  if (typeof found === 'object') return addExpression(context, node, found.expression, scope);
  if (found === undefined && context.loose?.(text, scope) === true) {
    const one = `[limit(2; (${text}\n))] | if length == 1 then .[0] else error end`;
    return { jq: `try (${one}) catch ${jqString(text)}` };
  }
  if (found === 'partial') reportPartial(context, node, text);
  return { jq: jqString(text), constant: jqString(text) };
}

function reportPartial({ reading, loose }: Context, node: Located, text: string): void {
  if (/^\s*\$\{.*\}\s*$/su.test(text))
    reading.problem(node, `holds more than one \${ }; write one expression, such as \${ "\\(.first) and \\(.second)" }`);
  else if (loose === undefined)
    reading.warning(node, `has \${ } within a longer text, which stays as it is; write \${ "text \\(.name)" } to insert a value`);
}

/** For members that are expressions by their meaning: `${ }` may be left out. */
export function expression(context: Context, node: Located, scope: Scope): Expression {
  if (node.kind !== 'string') {
    context.reading.wrongKind(node, 'an expression in quotes, such as ".devices"');
    return nothing;
  }
  const found = expressionIn(node.value);
  return addExpression(context, node, typeof found === 'object' ? found.expression : node.value.trim(), scope);
}

/** `=` assigns, and its result is always true. */
export function condition(context: Context, node: Located, scope: Scope): Expression {
  const read = expression(context, node, scope);
  if (assigns(read.jq)) context.reading.warning(node, 'assigns with "=", whose result counts as true; compare with "=="');
  return read;
}

/** For `input.from`, `output.as` and `export.as`. */
export function expressionOrObject(context: Context, node: Located, scope: Scope): Expression {
  return node.kind === 'object' ? template(context, node, scope) : expression(context, node, scope);
}

export function textOrExpression(context: Context, node: Located, scope: Scope, wanted: string): Expression {
  if (node.kind === 'string') return template(context, node, scope);
  context.reading.wrongKind(node, wanted);
  return nothing;
}

function addExpression({ reading, expressions }: Context, node: Located, jq: string, scope: Scope): Expression {
  if (jq === '') {
    reading.problem(node, 'is an empty expression; write . for the whole input');
    return nothing;
  }
  expressions.push({ place: node, jq, variables: variablesOf(scope) });
  // Keeps a comment from taking in what follows.
  return { jq: jq.includes('#') ? `(${jq}\n)` : jq };
}

/** For addresses, durations and attributes of events: `${ }` on one line. Undefined for other values. */
export function lineExpression(context: Context, node: Located, scope: Scope): Expression | undefined {
  if (node.kind !== 'string') return undefined;
  const found = expressionIn(node.value);
  if (typeof found !== 'object') return undefined;
  if (/[\n\r\u2028\u2029]/u.test(node.value.trim()))
    context.reading.problem(node, 'has several lines, which the DSL does not allow here; write the expression on one line');
  return addExpression(context, node, found.expression, scope);
}
