import type { Located } from '#yaml/located.ts';
import type { ExpressionPool } from '../expression-pool.ts';
import type { Context } from './context.ts';
import { expressionIn } from './jq-source.ts';
import type { DocumentReading } from './reading.ts';
import { at, reservedNames, variablesOf } from './scope.ts';

const textsAtMost = 2_000;

/**
 * In loose mode a text without `${ }` is an expression where it compiles. Compiles each text of the document once, with all variables that
 * exist somewhere in it. The scope of a place decides later whether the variables of its text exist there.
 */
export async function looseTexts(
  reading: DocumentReading,
  root: Located,
  compiler: Pick<ExpressionPool, 'problemOf'>,
): Promise<NonNullable<Context['loose']>> {
  const texts = new Set<string>();
  collect(root, texts);
  if (texts.size > textsAtMost) {
    reading.problem(root, 'has more than 2,000 different texts, each of which loose mode has to try; use strict mode');
    return () => false;
  }
  const names = [...texts].filter((text) => /^(?!__)[a-z_]\w{0,254}$/iu.test(text) && !reservedNames.includes(text));
  const variables = variablesOf(
    at({ moment: 'task', own: [...new Set(['output', 'item', 'index', 'error', ...names])] }, 'task'),
  );
  const compiling = new Set<string>();
  await Promise.all(
    [...texts].map(async (text) => {
      if (expressionIn(text) === undefined && (await compiler.problemOf(text, variables)) === undefined) compiling.add(text);
    }),
  );
  return (text, scope) => {
    const known = variablesOf(scope);
    return (
      compiling.has(text) &&
      Array.from(text.matchAll(/\$([A-Za-z_]\w*)/gu), ([, name = '']) => name).every((name) => known.includes(name))
    );
  };
}

function collect(node: Located, texts: Set<string>): void {
  if (node.kind === 'string') texts.add(node.value);
  else if (node.kind === 'array') for (const item of node.items) collect(item, texts);
  else if (node.kind === 'object') for (const { value } of node.members) collect(value, texts);
}
