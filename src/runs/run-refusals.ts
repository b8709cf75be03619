import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { UndecidedCall } from './interpreter/pending.ts';
import type { StoredRun } from './run-records.ts';

export function runNotFound(): GatewayError {
  return new GatewayError('run-not-found', 'There is no run with this id, or none that you may see.');
}

export function notYours(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Running this automation needs the role admin, membership of one of its gbac.write groups, or the role engineering or a right to it where it has no such groups.',
  );
}

export function notDecider(): GatewayError {
  return new GatewayError('forbidden', 'A decision about a call needs the role admin, or a right to decide (decideRun).');
}

export function withoutWorkflow(named: string | undefined, version?: string): GatewayError {
  const release = version === undefined ? 'has no release' : `has no version ${version}`;
  const detail =
    named === undefined
      ? 'The automation names no workflow: set data.workflowId to the id of one.'
      : `The workflow ${JSON.stringify(named)} does not exist, or ${release}: store it, or name another one in data.workflowId.`;
  return new GatewayError('workflow-not-found', detail, { status: 409 });
}

export function withoutAutomation(): GatewayError {
  return new GatewayError('run-conflict', 'The automation of this run does not exist any more.');
}

export function otherWorkflow(workflow: string): GatewayError {
  return new GatewayError('run-conflict', `The automation of this run no longer names the workflow ${workflow}.`);
}

export function hasParent(parent: string): GatewayError {
  return new GatewayError(
    'run-has-parent',
    `A task of the run ${parent} began this run, and what comes before the task belongs to it; repeat the outermost run.`,
  );
}

export function superseded({ version }: Pick<StoredRun, 'version'>, newest: string | undefined): GatewayError {
  const other = newest === undefined ? 'no version' : `the version ${newest}, or other bytes of this one`;
  return new GatewayError(
    'version-superseded',
    `The run took the version ${version}, and a new run would take ${other}. Run the automation, or ask somebody who may write the workflow.`,
  );
}

export function versionNotYours(workflow: string, reason: string): GatewayError {
  return new GatewayError(
    'forbidden',
    `Choosing a version needs the right to write the workflow ${JSON.stringify(workflow)}, and writing it ${reason}.`,
  );
}

export function delegationLost(detail: string): GatewayError {
  return new GatewayError('delegation-lost', detail);
}

export function documentGone(): GatewayError {
  return new GatewayError(
    'run-conflict',
    'The gateway cannot read the document or the state of the run, so the call cannot be made again: decide done or failed.',
  );
}

export function invalidInput(problems: readonly RequestProblem[]): GatewayError {
  return new GatewayError(
    'invalid-request',
    'The input does not satisfy the form of the automation, or the schema of its workflow.',
    {
      errors: problems,
    },
  );
}

export function keyReused(): GatewayError {
  return new GatewayError(
    'idempotency-key-reused',
    'An earlier request had this Idempotency-Key and another input: send the same input again, or another key for another run.',
  );
}

export function hasEnded({ status }: Pick<StoredRun, 'status'>): GatewayError {
  return new GatewayError('run-conflict', `The run has ended already: it is ${status}.`);
}

export function notSuspended(): GatewayError {
  return new GatewayError('run-conflict', 'The run is not suspended, so there is nothing to resume.');
}

export function decidedAlready(): GatewayError {
  return new GatewayError('run-conflict', 'This call was decided already.');
}

export function needsDecision(calls: readonly UndecidedCall[]): GatewayError {
  const tasks = calls.map(({ activity, reference }) => `${activity} (${reference})`).join(', ');
  return new GatewayError(
    'run-conflict',
    `The outcome of a call is unknown, and somebody with the right to decide has to: send task, as and reason for each of the tasks ${tasks}.`,
  );
}

/** The call that a decision names: by the id of its task, or by its reference where it is the only one there. */
export function chosenCall(calls: readonly UndecidedCall[], task: string): UndecidedCall {
  const named = calls.filter(({ activity, reference }) => String(activity) === task || reference === task);
  const [call] = named;
  if (call !== undefined && named.length === 1) return call;
  if (named.length > 1) {
    const ids = named.map(({ activity }) => activity).join(', ');
    throw new GatewayError('run-conflict', `Several calls of this task have an unknown outcome: name the id of one (${ids}).`);
  }
  const open = calls.map(({ activity, reference }) => `${activity} (${reference})`).join(', ');
  const hint = open === '' ? 'the run has no such call' : `those of the run are ${open}`;
  throw new GatewayError('run-conflict', `The outcome of this task is not unknown, or was decided already; ${hint}.`);
}
