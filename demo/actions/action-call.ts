import type { DataObject } from '../model/data-tree.ts';
import { nodeAt, objectOf } from '../model/data-tree.ts';
import { pathText, type Target } from '../model/instance-path.ts';
import type { ActionNode } from '../model/schema.ts';
import type { Orchestrator, TransactionOptions } from '../model/transaction.ts';
import type { ActionInput } from '../wire/action-input.ts';
import type { Content, ContentBuilder } from '../wire/document.ts';

/** One invocation of an action. */
export interface ActionCall {
  readonly orchestrator: Orchestrator;
  readonly target: Target;
  readonly action: ActionNode;
  readonly input: ActionInput;
  readonly user: string;
  /** Builds output in the action's module. */
  readonly build: ContentBuilder;
}

/** The reply of an action: its output, 204 without output, or 200 with an empty object (`compare-config` in sync). */
export type ActionOutput = readonly Content[] | 'no-output' | 'empty-object';

/** @throws OrchestratorError where NSO replies with an error status; most failures of a device are output. */
export type ActionHandler = (call: ActionCall) => ActionOutput;

/** The data of the entry or container that the action is invoked on. */
export function subjectOf({ orchestrator, target }: ActionCall): DataObject {
  return objectOf(nodeAt(orchestrator.datastore.root, target.steps));
}

/** Options of the transaction of an action, by default with networking and without service code. */
export function actionTransaction(call: ActionCall, options: Partial<TransactionOptions> = {}): TransactionOptions {
  return {
    user: call.user,
    path: `${pathText(call.target.steps)}/${call.action.name}`,
    dryRun: false,
    noNetworking: false,
    noOutOfSyncCheck: false,
    label: '',
    comment: call.action.name,
    mapsServices: false,
    ...options,
  };
}
