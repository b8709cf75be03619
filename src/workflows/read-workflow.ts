import { pointerSegments } from '#json/json-pointer.ts';
import { type Located, type LocatedText, locate } from '#yaml/located.ts';
import { excessOf } from '#yaml/yaml-limits.ts';
import { type Position, parseYaml } from '#yaml/yaml-text.ts';
import type { ExpressionPool } from './expression-pool.ts';
import { isLoose, readDocument } from './reader/document-reader.ts';
import { checkExpressions } from './reader/expression-checks.ts';
import { looseTexts } from './reader/loose-mode.ts';
import { DocumentReading, type WorkflowProblem } from './reader/reading.ts';
import { secretMentions } from './secret-mentions.ts';
import type { Workflow } from './workflow.ts';

interface ReadWorkflowOptions {
  /** YAML 1.2 or JSON. */
  readonly text: string;
  readonly known: {
    /** Names of adapter instances. A call to another one is a warning, because the configuration may change. Absent: not known. */
    readonly adapters?: readonly string[];
  };
  /** Compiles the expressions of the document. None of them is run. */
  readonly expressions: Pick<ExpressionPool, 'problemOf'>;
  /** The document was judged before, so that its expressions compile: in strict mode none is compiled again. */
  readonly isJudged?: boolean;
}

/** A workflow, or every problem of its document, at most 100, in the order of the text. */
export type WorkflowReading =
  | {
      readonly workflow: Workflow;
      readonly warnings: readonly WorkflowProblem[];
      /** The line and column of a value of the document. */
      readonly positionOf: (pointer: string) => Position;
    }
  | {
      readonly problems: readonly WorkflowProblem[];
      readonly warnings: readonly WorkflowProblem[];
      /** The document as JSON text, where its text could be read. */
      readonly definition?: string;
    };

/** Bytes of UTF-8. */
export const workflowSizeLimit = 1024 ** 2;

export async function readWorkflow({ text: written, ...options }: ReadWorkflowOptions): Promise<WorkflowReading> {
  // A lone carriage return is a line break of YAML and white space of JSON, which the library takes for text.
  const text = written.replace(/\r(?!\n)/gu, '\n');
  const whole = { line: 1, column: 1 };
  if (Buffer.byteLength(text) > workflowSizeLimit)
    return {
      problems: [{ pointer: '', detail: 'the document is larger than 1 MiB; split it into several workflows', ...whole }],
      warnings: [],
    };
  const excess = excessOf(text);
  if (excess !== undefined) {
    const before = text.slice(0, excess.offset).split('\n');
    const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    return { problems: [{ pointer: '', detail: excess.message, ...position }], warnings: [] };
  }
  const yaml = parseYaml(text);
  if (yaml.faults.length > 0)
    return {
      problems: yaml.faults.slice(0, 100).map(({ message, ...position }) => ({ pointer: '', detail: message, ...position })),
      warnings: [],
    };
  const reading = new DocumentReading(yaml.positionOf);
  const located = locate(yaml);
  for (const fault of located.faults) reading.unreadable(fault, fault.message);
  if (!located.isWhole) return { problems: reading.problems, warnings: [] };
  return await judge(reading, located, options);
}

async function judge(
  reading: DocumentReading,
  { root }: LocatedText,
  { known: { adapters }, expressions, isJudged = false }: Omit<ReadWorkflowOptions, 'text'>,
): Promise<WorkflowReading> {
  const loose = isLoose(reading, root) ? await looseTexts(reading, root, expressions) : undefined;
  const workflow = readDocument({
    reading,
    root,
    ...(adapters === undefined ? {} : { adapters }),
    ...(loose === undefined ? {} : { loose }),
  });
  if (!isJudged) await checkExpressions(reading, expressions);
  if (!isJudged) checkSecrets(reading, workflow);
  const { problems, warnings } = reading;
  if (problems.length > 0) return { problems, warnings, definition: root.json };
  return { workflow, warnings, positionOf: (pointer) => reading.positionOf(offsetOf(root, pointer)) };
}

/** Where the value begins that the pointer leads to, or the last value on the way there. */
function offsetOf(root: Located, pointer: string): number {
  let node = root;
  for (const name of pointerSegments(pointer)) {
    const next = node.kind === 'array' ? node.items[Number(name)] : node.kind === 'object' ? memberNamed(node, name) : undefined;
    if (next === undefined) break;
    node = next;
  }
  return node.offset;
}

function memberNamed({ members }: Extract<Located, { readonly kind: 'object' }>, name: string): Located | undefined {
  return members.find((member) => member.name === name)?.value;
}

/** A document that was stored before this rule is read all the same: the task fails that uses the secret. */
function checkSecrets(reading: DocumentReading, { secrets }: Workflow): void {
  for (const { place, jq } of reading.expressions)
    for (const name of secretMentions(jq))
      if (!secrets.includes(name)) reading.problem(place, `uses the secret "${name}", which is not listed in use.secrets`);
}
