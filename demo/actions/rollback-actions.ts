import type { Rollback } from '../model/datastore.ts';
import { differences } from '../model/difference.ts';
import { invalidValue } from '../model/orchestrator-error.ts';
import { runTransaction } from '../model/transaction.ts';
import { rootSchema } from '../model/yang-modules.ts';
import { inputValues } from '../wire/action-input.ts';
import { curlyText } from '../wire/difference-text.ts';
import { type ActionCall, type ActionHandler, type ActionOutput, actionTransaction } from './action-call.ts';

/** The actions of rollback files, by schema path. */
export const rollbackActions: readonly (readonly [string, ActionHandler])[] = [
  ['rollback-files/apply-rollback-file', applyRollbackFile],
  ['rollback-files/get-rollback-file', getRollbackFile],
];

/** Restores the state before a commit. */
function applyRollbackFile(call: ActionCall): ActionOutput {
  const { before } = rollbackFor(call);
  runTransaction(call.orchestrator, () => before, actionTransaction(call));
  return 'no-output';
}

/** The change that the rollback of this commit alone makes, as text. */
function getRollbackFile(call: ActionCall): ActionOutput {
  const { before, after } = rollbackFor(call);
  return [call.build.leaf('content', curlyText(differences(rootSchema, after, before)))];
}

/** `fixed-number` names the same commit for ever; `id` counts from the newest, which is 0. */
function rollbackFor(call: ActionCall): Rollback {
  const { datastore } = call.orchestrator;
  const [fixedNumber] = inputValues(call.input, 'fixed-number');
  const [id = '0'] = inputValues(call.input, 'id');
  const rollback = datastore.rollbacks.find((each, index) =>
    fixedNumber === undefined ? String(index) === id : String(each.fixedNumber) === fixedNumber,
  );
  if (rollback === undefined) throw invalidValue('there is no such rollback file');
  return rollback;
}
