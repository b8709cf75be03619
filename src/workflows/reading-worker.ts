/** The thread that reads one document. Started by `reading-threads.ts`. */
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { readJsonTree } from '#json/json-tree.ts';
import { createExpressionPool } from './expression-pool.ts';
import { operationsOf } from './operations.ts';
import { readWorkflow, type WorkflowReading } from './read-workflow.ts';
import type { JudgedDocument, LoadedDocument, ReadingRequest, WorkflowJudgement } from './reading-threads.ts';
import { answerRequests } from './thread-pool.ts';

/** Its thread ends with this one. */
const expressions = createExpressionPool({ threads: 1 });
answerRequests(
  (request: ReadingRequest): Promise<WorkflowJudgement | LoadedDocument> =>
    request.purpose === 'judge' ? judge(request) : load(request.text),
);

async function judge({ text, mediaType, adapters }: JudgedDocument): Promise<WorkflowJudgement> {
  const fault = mediaType === 'application/json' ? jsonFault(text) : undefined;
  return fault ?? judgementOf(await readWorkflow({ text, known: adapters === undefined ? {} : { adapters }, expressions }));
}

async function load(text: string): Promise<LoadedDocument> {
  const reading = await readWorkflow({ text, known: {}, expressions, isJudged: true });
  return 'workflow' in reading ? { workflow: reading.workflow } : { problems: reading.problems };
}

function judgementOf(reading: WorkflowReading): WorkflowJudgement {
  if ('problems' in reading) return reading;
  const { workflow, warnings, positionOf } = reading;
  const { id, version, title, definition } = workflow;
  const { functions, workflows, calls } = operationsOf(workflow);
  const placed = <Site extends { readonly pointer?: string }>(site: Site) => ({ ...site, ...positionOf(site.pointer ?? '') });
  const facts = {
    id,
    version,
    definition,
    functions: [...functions],
    workflows: workflows.map(placed),
    calls: calls.map(placed),
    secrets: workflow.secrets,
  };
  return { facts: title === undefined ? facts : { ...facts, title }, warnings };
}

/** A document that was sent as JSON has to be JSON: it is answered as such. */
function jsonFault(written: string): WorkflowJudgement | undefined {
  const bytes = Buffer.from(written);
  try {
    readJsonTree(bytes, { maxDepth: 128 });
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const before = bytes.toString('utf8', 0, error.offset).split('\n');
    const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    const detail = `is no JSON (${error.message}); send YAML as application/yaml`;
    return { problems: [{ pointer: '', detail, ...position }], warnings: [] };
  }
}
