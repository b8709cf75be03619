import type { Located } from '#yaml/located.ts';
import type { Task } from '../workflow.ts';
import type { Definitions } from './definitions.ts';
import type { DocumentReading } from './reading.ts';
import type { Scope } from './scope.ts';

/** What the readers of all parts share. */
export interface Context {
  readonly reading: DocumentReading;
  readonly definitions: Definitions;
  /** Names of the adapter instances in the configuration, where they are known. */
  readonly adapters?: readonly string[];
  /** Absent in strict mode. Whether a text without `${ }` is an expression. */
  readonly loose?: (text: string, scope: Scope) => boolean;
  /** Reads a list of tasks, each with its name. */
  readonly tasks: (node: Located | undefined, scope: Scope) => readonly Task[];
  /** Reads branches, which run at the same time. */
  readonly branches: (node: Located | undefined, scope: Scope) => readonly Task[];
  /** The body of a function of the document; undefined where it has a problem, which is reported. */
  readonly body: (name: string, node: Located) => Task | 'recursive' | undefined;
}
