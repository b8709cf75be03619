import { entrances, rightMethods } from '#access/access-options.ts';
import { findAskedPrincipal } from '#access/asked-principal.ts';
import type { Principal } from '#access/principal.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { callRoles } from '#calls/decide-call.ts';
import { type CallRules, type ExplainedCall, explainCall } from '#calls/explain-call.ts';
import type { ExplainAnswer, ExplainQuestion } from '#cli/command.ts';
import type { Config } from '#config/config.ts';
import { refusalBeforeLookup } from '#outbound/connector.ts';
import { createDestinationPolicy } from '#outbound/destination-policy.ts';
import type { CallOperation } from '#relay/relayed-call.ts';

/** The decision about a call under a configuration that no gateway runs. The gateway's own listeners are not known, and not denied. */
export function explainOffline(config: Config, { route, method, via, ...question }: ExplainQuestion): ExplainAnswer {
  const accounts = accountsOf(config);
  const found = findAskedPrincipal(question, {
    principalNamed: (username) => accounts.get(username)?.principal,
    customRoles: config.access.roles.map(({ name }) => name),
  });
  const operation = operations.find((each) => each === route);
  const problems = 'problems' in found ? [...found.problems] : [];
  if (operation === undefined) problems.push({ pointer: '/route', detail: `relays no call; there are ${operations.join(', ')}` });
  const verb = wordOf(rightMethods, method, { pointer: '/method', problems });
  const entrance = wordOf(entrances, via, { pointer: '/via', problems });
  if ('problems' in found || operation === undefined || problems.length > 0) return { problems };
  const asked = { ...question, principal: found.principal, route: operation, method: verb, via: entrance };
  const answer = explainCall(asked, rulesOf(config));
  if ('problems' in answer) return answer;
  const { allowed, rule, reason, approvals } = answer;
  const account = accounts.get(question.principal ?? '');
  const keys = [...(account === undefined ? [] : [account.key]), ...keysOf(config, answer, question.adapter)];
  return { allowed, rule, reason, approvals, keys };
}

/** The word as one of these. Notes a problem where it is another one. */
function wordOf<const W extends string>(
  words: readonly W[],
  given: string | undefined,
  { pointer, problems }: { readonly pointer: string; readonly problems: RequestProblem[] },
): W | undefined {
  const word = words.find((each) => each === given);
  if (word !== given) problems.push({ pointer, detail: `is none of ${words.join(', ')}` });
  return word;
}

interface OfflineAccount {
  readonly principal: Principal;
  /** The key path of its roles. */
  readonly key: string;
}

/** Users and clients by name. */
function accountsOf({ access }: Config): ReadonlyMap<string, OfflineAccount> {
  const account = (section: string, index: number, name: string, { roles, groups }: Pick<Principal, 'roles' | 'groups'>) =>
    [name, { principal: { id: name, username: name, roles, groups }, key: `access.${section}[${index}].roles` }] as const;
  return new Map([
    ...access.users.map((user, index) => account('users', index, user.username, user)),
    ...access.clients.map((client, index) => account('clients', index, client.clientId, client)),
  ]);
}

const operations = Object.keys(callRoles) as readonly CallOperation[];

function rulesOf({ access, adapters, outbound, approvals }: Config): CallRules {
  const policy = createDestinationPolicy({ ...outbound, ownListeners: () => [] });
  return {
    customRoles: access.roles,
    approvalRules: approvals,
    adapters: adapters.map(({ name, ...settings }) => ({ name, settings })),
    refusal: (url) => refusalBeforeLookup(policy, url),
  };
}

/** The key paths of the right, the path rights and the outbound policy that decided. */
function keysOf(
  { access, adapters }: Config,
  { permission, rule }: ExplainedCall,
  adapter: string | undefined,
): readonly string[] {
  const keys: string[] = [];
  if (permission?.kind === 'right') {
    const role = access.roles.findIndex(({ name }) => name === permission.role);
    keys.push(`access.roles[${role}].allows[${permission.right}]`);
  }
  const pathRights = /(?:allow|deny)Paths\.(?:actions|queries)/u.exec(rule)?.[0];
  if (pathRights !== undefined) keys.push(`adapters[${adapters.findIndex(({ name }) => name === adapter)}].${pathRights}`);
  const outbound = /outbound\.(?:allow|deny)/u.exec(rule)?.[0];
  if (outbound !== undefined) keys.push(outbound);
  return keys;
}
