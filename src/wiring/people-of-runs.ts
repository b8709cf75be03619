import type { PrincipalNow } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import { neededApprovals } from '#calls/approval-rules.ts';
import { fixedMethod } from '#calls/call.ts';
import { decidePermission } from '#calls/decide-call.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import { createRunPeople, type RunPeople } from '#runs/people/run-people.ts';
import type { SecretUse } from '#workflows/catalogue/secret-use.ts';
import type { WorkflowStore } from '#workflows/catalogue/workflow-store.ts';
import type { FunctionName } from '#workflows/workflow.ts';
import type { LiveParts } from './live-parts.ts';

interface RunPeopleParts {
  readonly runStore: Pick<RunStore, 'people'>;
  readonly workflowStore: Pick<WorkflowStore, 'storers' | 'find'>;
  readonly live: Pick<LiveParts, 'customRoles'>;
  readonly principalNow: PrincipalNow;
  readonly isGone: (id: string) => boolean;
  readonly secretUse: Pick<SecretUse, 'whyNot'>;
}

/** The people behind runs, judged by the configuration in force. */
export function runPeopleOf({ runStore, workflowStore, live, principalNow, isGone, secretUse }: RunPeopleParts): RunPeople {
  return createRunPeople({
    store: runStore,
    principalNow,
    isGone,
    storers: (digests) => workflowStore.storers(digests),
    digestOf: async (name) => (await workflowStore.find(name))?.digest,
    whyNotCall: (principal, functions) => functions.find((name) => !mayCall(principal, name, live)),
    whyNotSecrets: ({ pin, secrets }, writers) => secretUse.whyNot({ ...pin, secrets }, writers),
  });
}

/** Functions that leave the gateway, by the call that they are. */
const operations: Readonly<Partial<Record<FunctionName, CallOperation>>> = {
  restCall: 'restCall',
  http: 'restCall',
  openapi: 'restCall',
  orchestratorAction: 'restAction',
  orchestratorQuery: 'restQuery',
  orchestratorRequest: 'restRequest',
};

/** Whether the rule may match a call of a run by this function, at some time. What is not known of the call matches. */
export function mayMatch(rule: ApprovalRule, name: FunctionName): boolean {
  const operation = operations[name];
  if (operation === undefined) return false;
  const call = { operation, adapter: undefined, method: fixedMethod(operation), path: undefined };
  const { from: at = 0 } = rule.when;
  return neededApprovals([rule], { principal: anyone, answerable: [], via: ['run', 'mcp'], at, call }).length > 0;
}

/** A rule for some roles matches calls of runs in any case. */
const anyone: Principal = { id: '', username: '', roles: [], groups: [] };

/** What the document does not say, such as a path, is judged at each call. */
function mayCall(principal: Principal, name: FunctionName, { customRoles }: RunPeopleParts['live']): boolean {
  const operation = operations[name];
  if (operation === undefined) return true;
  const call = { operation, adapter: undefined, method: undefined, path: undefined, entrance: 'run' } as const;
  return decidePermission({ principal, customRoles: customRoles(), call }).allowed;
}
