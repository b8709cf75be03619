/** The thread that reads one document. Started by `reading-threads.ts`. */
import { defined } from '#base/text/defined.ts';
import { jsonFault } from '#json/json-scanner.ts';
import { positionAfter } from '#yaml/yaml-text.ts';
import { operationsOf } from './call-operations.ts';
import { createExpressionPool } from './jq/expression-pool.ts';
import { readWorkflow, type WorkflowReading } from './read-workflow.ts';
import type { JudgedDocument, LoadedDocument, ReadingRequest, WorkflowJudgement } from './reading-threads.ts';
import { answerRequests } from './thread-pool.ts';

const expressions = createExpressionPool({ threads: 1 });
answerRequests(
  (request: ReadingRequest): Promise<WorkflowJudgement | LoadedDocument> =>
    request.purpose === 'judge' ? judge(request) : load(request.text),
);

async function judge({ text, mediaType, adapters }: JudgedDocument): Promise<WorkflowJudgement> {
  const fault = mediaType === 'application/json' ? mediaTypeFault(text) : undefined;
  return fault ?? judgementOf(await readWorkflow({ text, known: adapters === undefined ? {} : { adapters }, expressions }));
}

async function load(text: string): Promise<LoadedDocument> {
  const reading = await readWorkflow({ text, known: {}, expressions, isJudged: true });
  return 'workflow' in reading ? { workflow: reading.workflow } : { problems: reading.problems };
}

function judgementOf(reading: WorkflowReading): WorkflowJudgement {
  if ('problems' in reading) return reading;
  const { workflow, warnings, positionOf } = reading;
  const { id, version, title, definition, secrets } = workflow;
  const { functions, workflows, calls } = operationsOf(workflow);
  const placed = <Site extends { readonly pointer?: string }>(site: Site) => ({ ...site, ...positionOf(site.pointer ?? '') });
  const operations = { functions: [...functions], workflows: workflows.map(placed), calls: calls.map(placed) };
  return { facts: defined({ id, version, title, definition, ...operations, secrets }), warnings };
}

/** A document sent as JSON is answered as JSON. */
function mediaTypeFault(written: string): WorkflowJudgement | undefined {
  const bytes = Buffer.from(written);
  const fault = jsonFault(bytes);
  if (fault === undefined) return undefined;
  const position = positionAfter(bytes.toString('utf8', 0, fault.offset));
  const detail = `is no JSON (${fault.message}); send YAML as application/yaml`;
  return { problems: [{ pointer: '', detail, ...position }], warnings: [] };
}
