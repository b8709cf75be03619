import { defined } from '#base/text/defined.ts';
import { pointerSegments } from '#json/json-pointer.ts';
import { type DocumentProblem, type DocumentReading, openDocument } from '#yaml/document-reading.ts';
import type { Located, TextPosition } from '#yaml/located.ts';
import { joinWords, quote } from '#yaml/wording.ts';
import type { Position } from '#yaml/yaml-text.ts';
import type { ExpressionPool } from './jq/expression-pool.ts';
import {
  at,
  type Context,
  ownVariables,
  reservedNames,
  suggestion,
  variablesOf,
  type WrittenExpression,
} from './reader/context.ts';
import { isLoose, readDocument } from './reader/document-reader.ts';
import { expressionIn, isBalanced, secretMentions } from './reader/jq-source.ts';
import type { Workflow } from './workflow.ts';

interface ReadWorkflowOptions {
  /** YAML 1.2 or JSON. */
  readonly text: string;
  readonly known: {
    /** Adapter instances. A call to another one is only a warning, because the configuration may change. */
    readonly adapters?: readonly string[];
  };
  readonly expressions: Pick<ExpressionPool, 'problemOf'>;
  /** In strict mode its expressions are not compiled again. */
  readonly isJudged?: boolean;
}

/** Problems: at most 100, in the order of the text. */
export type WorkflowReading =
  | {
      readonly workflow: Workflow;
      readonly warnings: readonly DocumentProblem[];
      readonly positionOf: (pointer: string) => Position;
    }
  | {
      readonly problems: readonly DocumentProblem[];
      readonly warnings: readonly DocumentProblem[];
      /** JSON text, where the text could be read. */
      readonly definition?: string;
    };

/** Bytes. */
export const workflowSizeLimit = 1024 ** 2;

export async function readWorkflow({ text: written, ...options }: ReadWorkflowOptions): Promise<WorkflowReading> {
  // A line break of YAML, which the library takes for text.
  const text = written.replace(/\r(?!\n)/gu, '\n');
  if (Buffer.byteLength(text) <= workflowSizeLimit) {
    const document = openDocument(text);
    return 'problems' in document ? { ...document, warnings: [] } : await judge(document, options);
  }
  const detail = 'the document is larger than 1 MiB; split it into several workflows';
  return { problems: [{ pointer: '', detail, line: 1, column: 1 }], warnings: [] };
}

async function judge(
  { reading, root }: { readonly reading: DocumentReading; readonly root: Located },
  { known: { adapters }, expressions: compiler, isJudged = false }: Omit<ReadWorkflowOptions, 'text'>,
): Promise<WorkflowReading> {
  const expressions: WrittenExpression[] = [];
  const loose = isLoose(reading, root) ? await looseTexts(reading, root, compiler) : undefined;
  const workflow = readDocument(defined({ reading, root, expressions, adapters, loose }));
  if (!isJudged) {
    await checkExpressions(reading, expressions, compiler);
    checkSecrets(reading, expressions, workflow);
  }
  const { problems, warnings } = reading;
  if (problems.length > 0) return { problems, warnings, definition: root.json };
  return { workflow, warnings, positionOf: (pointer) => reading.positionOf(offsetOf(root, pointer)) };
}

/** The last value that exists on the way of the pointer. */
function offsetOf(root: Located, pointer: string): number {
  let node = root;
  for (const name of pointerSegments(pointer)) {
    const inner = node.kind === 'object' ? node.members.find((member) => member.name === name)?.value : undefined;
    const next: Located | undefined = node.kind === 'array' ? node.items[Number(name)] : inner;
    if (next === undefined) break;
    node = next;
  }
  return node.offset;
}

/** Not checked for stored documents: there the task fails instead. */
function checkSecrets(reading: DocumentReading, expressions: readonly WrittenExpression[], { secrets }: Workflow): void {
  for (const { place, jq } of expressions)
    for (const name of secretMentions(jq))
      if (!secrets.includes(name)) reading.problem(place, `uses the secret "${name}", which is not listed in use.secrets`);
}

type Compiler = Pick<ExpressionPool, 'problemOf'>;

interface Distinct {
  readonly jq: string;
  readonly variables: readonly string[];
  readonly places: TextPosition[];
}

const maxDistinct = 10_000;
const batchSize = 100;
const atOnce = 4;

/** Reports expressions that do not compile. */
async function checkExpressions(
  reading: DocumentReading,
  expressions: readonly WrittenExpression[],
  compiler: Compiler,
): Promise<void> {
  const distinct = distinctExpressions(expressions);
  if (distinct.length > maxDistinct) {
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

function distinctExpressions(expressions: readonly WrittenExpression[]): readonly Distinct[] {
  const found = new Map<string, Distinct>();
  for (const { place, jq, variables } of expressions) {
    const key = `${variables.join()}\n${jq}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { jq, variables, places: [place] });
    else known.places.push(place);
  }
  return [...found.values()];
}

/** Those with complete brackets compile together exactly where each compiles: none breaks out of its parentheses. */
function batchKey({ jq, variables }: Distinct): string {
  return `${isBalanced(jq)} ${variables.join()}`;
}

function batchesOf(list: readonly Distinct[]): readonly (readonly Distinct[])[] {
  const size = list[0] !== undefined && isBalanced(list[0].jq) ? batchSize : 1;
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}

/** Halves a batch that does not compile until the faulty expressions are alone. */
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

function inWords(problem: string, variables: readonly string[]): string {
  const variable = /^\$(\w+) is not defined$/u.exec(problem)?.[1];
  if (variable === 'authorization') return 'uses $authorization, which the gateway does not have; use $secrets or the input';
  if (variable !== undefined && reservedNames.includes(variable))
    return `uses $${variable}, which does not exist at this place; known here are ${joinWords(variables.map((name) => `$${name}`))}`;
  if (variable !== undefined)
    return `uses $${variable}, which is not defined here${suggestion(
      `$${variable}`,
      variables.map((name) => `$${name}`),
    )}`;
  const name = /^(\w+)\/\d+ is not defined$/u.exec(problem)?.[1];
  if (name !== undefined)
    return `calls ${quote(name)}, which is no function of jq; text within an expression needs double quotes`;
  return `is no valid jq expression: ${problem}`;
}

const maxTexts = 2_000;

/** In loose mode a text is an expression where it compiles with all variables of the document. Those that it uses must exist at its place. */
async function looseTexts(
  reading: DocumentReading,
  root: Located,
  compiler: Pick<ExpressionPool, 'problemOf'>,
): Promise<NonNullable<Context['loose']>> {
  const texts = new Set<string>();
  collect(root, texts);
  if (texts.size > maxTexts) {
    reading.problem(root, 'has more than 2,000 different texts, each of which loose mode has to try; use strict mode');
    return () => false;
  }
  const names = [...texts].filter((text) => /^(?!__)[a-z_]\w{0,254}$/iu.test(text) && !reservedNames.includes(text));
  const variables = variablesOf(
    at({ moment: 'task', own: [...new Set(['output', ...Object.keys(ownVariables), ...names])] }, 'task'),
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
