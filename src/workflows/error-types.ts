import { outcomeUnknown } from './workflow.ts';

/** The standard types of the DSL, each with its status. */
export const standardStatuses = {
  configuration: 400,
  validation: 400,
  expression: 400,
  authentication: 401,
  authorization: 403,
  timeout: 408,
  communication: 500,
  runtime: 500,
} as const;

export const ofGateway = 'urn:orchestration-gateway:errors:';

/** The gateway did not make the call. */
export const callRefusals = {
  'secret-altered': 'The call has a secret in another spelling',
  'approval-rejected': 'People rejected the approval',
  'approval-expired': 'The approval has expired',
} as const;

export function standardType(name: string): string {
  return `https://serverlessworkflow.io/spec/1.0.0/errors/${name}`;
}

/** The types of the errors that tasks of a run raise by themselves. */
export function errorTypes(): readonly string[] {
  const refusals = Object.keys(callRefusals).map((name) => `${ofGateway}${name}`);
  return [...Object.keys(standardStatuses).map(standardType), outcomeUnknown, ...refusals];
}
