/** The members that an object of a document may have. Readers refuse others, and `language.ts` tells editors of them. */
export interface MemberTable {
  /** `*`: a name that the author chooses. A member whose value the author shapes has an empty table. */
  readonly [name: string]: MemberTable;
}

/** In the order of the table. */
export function memberNames<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[];
}

const own = {};

export const durationMembers = { days: own, hours: own, minutes: own, seconds: own, milliseconds: own };

export const timeoutMembers = { after: durationMembers };

export const credentialMembers = { basic: { username: own, password: own }, bearer: { token: own } };

export const policyMembers = {
  basic: { ...credentialMembers.basic, use: own },
  bearer: { ...credentialMembers.bearer, use: own },
};

const authenticationMembers = { use: own, ...policyMembers };

export const endpointMembers = { uri: own, authentication: authenticationMembers };

export const resourceMembers = { name: own, endpoint: endpointMembers };

export const schemaMembers = { format: own, document: own, resource: resourceMembers };

export const inputMembers = { schema: schemaMembers, from: own };

export const outputMembers = { schema: schemaMembers, as: own };

export const errorMembers = { type: own, status: own, title: own, detail: own, instance: own };

export const errorFilterMembers = { type: own, status: own, instance: own, title: own, details: own, detail: own };

export const backoffMembers = { constant: own, exponential: own, linear: own };

export const jitterMembers = { from: durationMembers, to: durationMembers };

export const attemptMembers = { count: own, duration: durationMembers };

export const limitMembers = { attempt: attemptMembers, duration: durationMembers };

export const retryMembers = {
  when: own,
  exceptWhen: own,
  delay: durationMembers,
  backoff: backoffMembers,
  limit: limitMembers,
  jitter: jitterMembers,
};

export const catchMembers = {
  errors: { with: errorFilterMembers },
  as: own,
  when: own,
  exceptWhen: own,
  retry: retryMembers,
  do: own,
};

export const workflowNameMembers = { namespace: own, name: own, version: own };

export const correlationMembers = { from: own, expect: own };

export const eventFilterMembers = { with: own, correlate: { '*': correlationMembers } };

export const consumptionMembers = { one: eventFilterMembers, all: eventFilterMembers, any: eventFilterMembers };

// oxlint-disable-next-line unicorn/no-thenable -- the directive of a case is no promise
export const caseMembers = { when: own, then: own };

/** Of every task. */
export const baseMembers = {
  if: own,
  input: inputMembers,
  output: outputMembers,
  export: outputMembers,
  timeout: timeoutMembers,
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
  then: own,
  metadata: { taskData: own },
};

/** Of each kind of task: the member that makes the kind, then the others. */
export const taskKindMembers = {
  call: { call: own, with: own },
  emit: { emit: { event: { with: own } } },
  for: { for: { each: own, in: own, at: own }, while: own, do: own },
  fork: { fork: { branches: own, compete: own } },
  listen: {
    listen: { to: { ...consumptionMembers, until: consumptionMembers }, read: own },
    foreach: { item: own, at: own, do: own, output: outputMembers, export: outputMembers },
  },
  raise: { raise: { error: errorMembers } },
  run: { run: { workflow: { ...workflowNameMembers, input: own }, await: own, return: own } },
  set: { set: own },
  switch: { switch: { '*': caseMembers } },
  try: { try: own, catch: catchMembers },
  wait: { wait: durationMembers },
  // Last, since a `for` also has a `do`.
  do: { do: own },
} satisfies MemberTable;

export const httpMembers = {
  method: own,
  endpoint: endpointMembers,
  headers: own,
  body: own,
  query: own,
  output: own,
  redirect: own,
};

export const openapiMembers = {
  document: resourceMembers,
  operationId: own,
  parameters: own,
  authentication: authenticationMembers,
  output: own,
  redirect: own,
};

export const batchMembers = {
  items: own,
  workflow: workflowNameMembers,
  parallel: own,
  canary: own,
  stopAfter: own,
  failures: own,
};

export const documentMembers = {
  document: {
    dsl: own,
    namespace: own,
    name: own,
    version: own,
    title: own,
    summary: own,
    tags: own,
    metadata: { taskData: own },
  },
  input: inputMembers,
  use: {
    authentications: { '*': policyMembers },
    errors: { '*': errorMembers },
    functions: { '*': own },
    retries: { '*': retryMembers },
    secrets: own,
    timeouts: { '*': timeoutMembers },
  },
  do: own,
  timeout: timeoutMembers,
  output: outputMembers,
  evaluate: { language: own, mode: own },
};
