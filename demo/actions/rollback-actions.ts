import { invalidValue } from '../model/orchestrator-error.ts';
import { runTransaction } from '../model/transaction.ts';
import { inputValues } from '../wire/action-input.ts';
import { type ActionCall, type ActionHandler, type ActionOutput, actionTransaction } from './action-call.ts';

/** `apply-rollback-file`, by schema path. */
export const rollbackActions: readonly (readonly [string, ActionHandler])[] = [
  ['rollback-files/apply-rollback-file', applyRollbackFile],
];

/** Restores the state before a commit. `fixed-number` names the same commit for ever; `id` counts from the newest, which is 0. */
function applyRollbackFile(call: ActionCall): ActionOutput {
  const { datastore } = call.orchestrator;
  const [fixedNumber] = inputValues(call.input, 'fixed-number');
  const [id = '0'] = inputValues(call.input, 'id');
  const rollback = datastore.rollbacks.find((each, index) =>
    fixedNumber === undefined ? String(index) === id : String(each.fixedNumber) === fixedNumber,
  );
  if (rollback === undefined) throw invalidValue('there is no such rollback file');
  runTransaction(call.orchestrator, () => rollback.before, actionTransaction(call));
  return 'no-output';
}
