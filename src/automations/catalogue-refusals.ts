import { GatewayError } from '#base/gateway-error.ts';

export function notFound(): GatewayError {
  return new GatewayError('automation-not-found', 'There is no automation with this _id, or none that you may see.');
}

export function notWritable(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Changing this automation needs the role admin, or the role engineering (or a right that covers its workflow) and membership of one of its gbac.write groups.',
  );
}

export function notCovered(): GatewayError {
  return new GatewayError(
    'forbidden',
    'No role and no right of yours covers the workflow of this automation, or one without a workflow.',
  );
}

export function notImportable(): GatewayError {
  return new GatewayError('forbidden', 'no role and no right lets you store this automation');
}

export function notRunnable(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Pausing and resuming this automation needs the right to run it: a role that may change it, or membership of one of its gbac.write groups.',
  );
}

export function pausedByWriter(): GatewayError {
  return new GatewayError(
    'forbidden',
    'A person who may write its workflow has paused this automation, and only such a person ends the pause.',
  );
}

export function notWorkflowWriter(what: string, reason: string): GatewayError {
  return new GatewayError('forbidden', `${what} needs the right to write the workflow, and writing it ${reason}.`);
}

export function nameTaken(name: string): GatewayError {
  return new GatewayError(
    'automation-exists',
    `Another automation has the name ${JSON.stringify(name)}; names are unique, choose another.`,
    {
      errors: [{ pointer: '/name', detail: 'is the name of another automation' }],
      logged: 'Another automation has this name; names are unique.',
    },
  );
}
