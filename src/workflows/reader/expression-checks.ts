import type { TextPlace } from '#yaml/located.ts';
import { listed, shown } from '#yaml/wording.ts';
import type { ExpressionPool } from '../expression-pool.ts';
import { suggestion } from './definitions.ts';
import { isBalanced } from './jq-source.ts';
import type { DocumentReading } from './reading.ts';
import { reservedNames } from './scope.ts';

type Compiler = Pick<ExpressionPool, 'problemOf'>;

interface Distinct {
  readonly jq: string;
  readonly variables: readonly string[];
  readonly places: TextPlace[];
}

const distinctAtMost = 10_000;
/** Expressions that are compiled together. */
const batchSize = 100;
/** Batches in progress. */
const atOnce = 4;

/** Compiles every expression of a document, and reports those that do not compile. */
export async function checkExpressions(reading: DocumentReading, compiler: Compiler): Promise<void> {
  const distinct = distinctExpressions(reading);
  if (distinct.length > distinctAtMost) {
    reading.problem(
      { pointer: '', offset: 0 },
      'the document has more than 10,000 different expressions; split it into several workflows',
    );
    return;
  }
  const batches = [...Map.groupBy(distinct, batchKey).values()].flatMap(batchesOf);
  const work = batches.values();
  const worker = async (): Promise<void> => {
    for (const batch of work) await checkBatch(reading, compiler, batch);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function distinctExpressions(reading: DocumentReading): readonly Distinct[] {
  const found = new Map<string, Distinct>();
  for (const { place, jq, variables } of reading.expressions) {
    const key = `${variables.join()}\n${jq}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { jq, variables, places: [place] });
    else known.places.push(place);
  }
  return [...found.values()];
}

/** Expressions with complete brackets compile together exactly where each compiles: none can break out of its parentheses. */
function batchKey({ jq, variables }: Distinct): string {
  return `${isBalanced(jq)} ${variables.join()}`;
}

function batchesOf(list: readonly Distinct[]): readonly (readonly Distinct[])[] {
  const size = list[0] !== undefined && isBalanced(list[0].jq) ? batchSize : 1;
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}

/** A batch that does not compile is halved until its faulty expressions are alone. */
async function checkBatch(reading: DocumentReading, compiler: Compiler, batch: readonly Distinct[]): Promise<void> {
  const [first] = batch;
  if (first === undefined || reading.isFull) return;
  const program = batch.length === 1 ? first.jq : batch.map(({ jq }) => `(${jq}\n)`).join(', ');
  const problem = await compiler.problemOf(program, first.variables);
  if (problem === undefined) return;
  if (batch.length === 1) {
    for (const place of first.places) reading.problem(place, inWords(problem, first.variables));
    return;
  }
  const middle = Math.ceil(batch.length / 2);
  await checkBatch(reading, compiler, batch.slice(0, middle));
  await checkBatch(reading, compiler, batch.slice(middle));
}

/** What jq says, in words of the DSL where that helps. */
function inWords(problem: string, variables: readonly string[]): string {
  const variable = /^\$(\w+) is not defined$/u.exec(problem)?.[1];
  if (variable === 'authorization') return 'uses $authorization, which the gateway does not have; use $secrets or the input';
  if (variable !== undefined && reservedNames.includes(variable))
    return `uses $${variable}, which does not exist at this place; known here are ${listed(variables.map((name) => `$${name}`))}`;
  if (variable !== undefined)
    return `uses $${variable}, which is not defined here${suggestion(
      `$${variable}`,
      variables.map((name) => `$${name}`),
    )}`;
  const name = /^(\w+)\/\d+ is not defined$/u.exec(problem)?.[1];
  if (name !== undefined)
    return `calls ${shown(name)}, which is no function of jq; text within an expression needs double quotes`;
  return `is no valid jq expression: ${problem}`;
}
