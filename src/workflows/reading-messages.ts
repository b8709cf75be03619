import type { CallSite, RunSite } from './call-sites.ts';
import type { WorkflowReading } from './read-workflow.ts';
import type { WorkflowProblem } from './reader/reading.ts';
import type { FunctionName, Workflow } from './workflow.ts';

/** `load`: a document that was judged before. Answered by the workflow itself. */
export type ReadingRequest =
  | ({ readonly purpose: 'judge' } & JudgedDocument)
  | { readonly purpose: 'load'; readonly text: string };

export interface JudgedDocument {
  readonly text: string;
  /** YAML, of which JSON is a part, or JSON alone. */
  readonly mediaType: 'application/json' | 'application/yaml';
  /** Names of adapter instances. Absent: not known, and then not judged. */
  readonly adapters?: readonly string[];
}

/** What the catalogue needs to know of a workflow. */
export interface WorkflowFacts {
  readonly id: string;
  readonly version: string;
  readonly title?: string;
  /** The document as JSON text. */
  readonly definition: string;
  /** What it may call (`operationsOf`). */
  readonly functions: readonly FunctionName[];
  readonly workflows: readonly RunSite[];
  /** Where it calls. Absent: it was stored before the gateway noted that. */
  readonly calls?: readonly CallSite[];
}

/** The facts of a workflow, or every problem of its document. */
export type WorkflowJudgement =
  | { readonly facts: WorkflowFacts; readonly warnings: readonly WorkflowProblem[] }
  | Extract<WorkflowReading, { readonly problems: unknown }>;

/** The workflow of a document that was judged before, or its problems under the rules of today. */
export type LoadedDocument = { readonly workflow: Workflow } | { readonly problems: readonly WorkflowProblem[] };
