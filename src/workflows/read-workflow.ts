import { defined } from '#base/text/defined.ts';
import { pointerSegments } from '#json/json-pointer.ts';
import { type DocumentProblem, type DocumentReading, openDocument } from '#yaml/document-reading.ts';
import type { Located } from '#yaml/located.ts';
import type { Position } from '#yaml/yaml-text.ts';
import type { ExpressionPool } from './jq/expression-pool.ts';
import type { WrittenExpression } from './reader/context.ts';
import { isLoose, readDocument } from './reader/document-reader.ts';
import { checkExpressions, looseTexts } from './reader/expression-checks.ts';
import { secretMentions } from './reader/jq-source.ts';
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
