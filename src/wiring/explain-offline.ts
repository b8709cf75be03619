import { type Entrance, entrances, rightMethods } from '#access/access-options.ts';
import { createAccounts } from '#access/accounts.ts';
import { findAskedPrincipal } from '#access/asked-principal.ts';
import { isRelayOperation, type Operation, operationNames } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import { createRights, rightName } from '#access/rights.ts';
import { type CallQuestion, type CallRules, type ExplainedCall, explainCall } from '#calls/explain-call.ts';
import { explainOperation } from '#calls/explain-operation.ts';
import { usableInRuns, whyNotWrittenCall } from '#calls/judge-written-call.ts';
import type { ExplainAnswer, ExplainQuestion } from '#cli/command.ts';
import type { Config } from '#config/config.ts';
import { refusalBeforeLookup } from '#outbound/connector.ts';
import { createDestinationPolicy } from '#outbound/destination-policy.ts';
import { explainStoring } from '#workflows/explain-storing.ts';
import { createReadingThreads } from '#workflows/reading-threads.ts';
import { createSecretUse } from '#workflows/secret-use.ts';
import { checkDocument } from '#workflows/workflow-catalogue.ts';
import { createWritingRight } from '#workflows/writing-right.ts';

/**
 * The decision about an operation under a configuration that no gateway runs. The gateway's own listeners are not known, and not denied; neither
 * are the workflows of its store, which a document may run.
 */
export async function explainOffline(config: Config, question: ExplainQuestion): Promise<ExplainAnswer> {
  const accounts = accountsOf(config);
  const customRoles = config.access.roles;
  const found = findAskedPrincipal(question, {
    principalNamed: (username) => accounts.get(username)?.principal,
    customRoles: customRoles.map(({ name }) => name),
  });
  const read = readQuestion(question);
  if ('problems' in found || 'problems' in read)
    return { problems: [...('problems' in found ? found.problems : []), ...('problems' in read ? read.problems : [])] };
  const { principal } = found;
  const { operation, via, entrance, method, workflow } = read;
  const account = accounts.get(question.principal ?? '');
  const ofAccount = account === undefined ? [] : [account.key];
  if (isRelayOperation(operation)) {
    const { adapter, path } = question;
    return explainedCall(config, principal, { route: operation, adapter, path, method, via }, ofAccount);
  }
  const answer = explainOperation({ principal, operation, entrance, customRoles });
  const keys = [...ofAccount, ...rightKeys(config, answer.rule)];
  if (workflow === undefined || !answer.allowed) return { ...answer, keys };
  return { ...answer, ...(await judged(config, principal, workflow)), keys };
}

function explainedCall(
  config: Config,
  principal: Principal,
  question: CallQuestion,
  ofAccount: readonly string[],
): ExplainAnswer {
  const answer = explainCall({ principal, ...question }, rulesOf(config));
  if ('problems' in answer) return answer;
  const { allowed, rule, reason, approvals } = answer;
  return { allowed, rule, reason, approvals, keys: [...ofAccount, ...keysOf(config, answer, question.adapter)] };
}

interface ReadQuestion {
  readonly operation: Operation;
  /** Undefined: the question does not say it. */
  readonly via: Entrance | undefined;
  readonly entrance: Entrance;
  readonly method: (typeof rightMethods)[number] | undefined;
  readonly workflow: string | undefined;
}

type QuestionProblem = Extract<ExplainAnswer, { readonly problems: unknown }>['problems'][number];

function readQuestion(question: ExplainQuestion): ReadQuestion | { readonly problems: readonly QuestionProblem[] } {
  const { route, workflow } = question;
  const operation = operationNames.find((each) => each === route);
  const method = rightMethods.find((each) => each === question.method);
  const via = entrances.find((each) => each === question.via);
  const problems: QuestionProblem[] = [];
  if (operation === undefined) problems.push({ pointer: '/route', detail: 'is no operationId of /openapi.json' });
  else problems.push(...needlessIn(question, operation));
  if (method !== question.method) problems.push({ pointer: '/method', detail: `is none of ${rightMethods.join(', ')}` });
  if (via !== question.via) problems.push({ pointer: '/via', detail: `is none of ${entrances.join(', ')}` });
  if (operation === undefined || problems.length > 0) return { problems };
  return { operation, via, entrance: via ?? 'http', method, workflow };
}

/** What the question says, and has no meaning for the operation. */
function needlessIn(question: ExplainQuestion, operation: Operation): readonly QuestionProblem[] {
  const ofCalls = isRelayOperation(operation) ? [] : (['adapter', 'method', 'path'] as const);
  const problems = ofCalls
    .filter((name) => question[name] !== undefined)
    .map((name) => ({ pointer: `/${name}`, detail: `has no meaning here: ${operation} relays no call` }));
  if (question.workflow === undefined || operation === 'createWorkflow') return problems;
  return [...problems, { pointer: '/workflow', detail: 'has no meaning here: give it with the route createWorkflow' }];
}

/** Judges a document for a principal. No store is open: a workflow that it runs is not known. */
async function judged(config: Config, principal: Principal, text: string): ReturnType<typeof explainStoring> {
  await using threads = new AsyncDisposableStack();
  const reading = threads.adopt(createReadingThreads(), (opened) => opened.close());
  const rights = createRights(() => config.access.roles);
  const store = { read: async () => undefined, versions: async () => [] };
  const writing = createWritingRight({
    store,
    reading,
    rights,
    whyNotCall: (asked, call) => whyNotWrittenCall({ principal: asked, call }, config.access.roles),
  });
  const names = config.adapters.map(({ name }) => name);
  const none = { find: async () => undefined, load: async () => undefined };
  const check = checkDocument({
    reading,
    secretUse: createSecretUse({ rules: () => config.automations.secrets, store: none, loader: none }),
    writing,
    adapters: (asked) => usableInRuns({ principal: asked, customRoles: config.access.roles, names }),
  });
  return await explainStoring(check, { principal, text });
}

interface OfflineAccount {
  readonly principal: Principal;
  /** The key path of its roles. */
  readonly key: string;
}

/** Users and clients by name, with the roles of their groups; none that is blocked. */
function accountsOf({ access }: Config): ReadonlyMap<string, OfflineAccount> {
  const accounts = createAccounts(access);
  const keys = new Map([
    ...access.users.map(({ username }, index) => [username, `access.users[${index}].roles`] as const),
    ...access.clients.map(({ clientId }, index) => [clientId, `access.clients[${index}].roles`] as const),
  ]);
  return new Map(accounts.principals().map((principal) => [principal.id, { principal, key: keys.get(principal.id) ?? '' }]));
}

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
function keysOf(config: Config, { permission, rule }: ExplainedCall, adapter: string | undefined): readonly string[] {
  const keys = permission?.kind === 'right' ? [...rightKeys(config, rightName(permission.role, permission.right))] : [];
  const pathRights = /(?:allow|deny)Paths\.(?:actions|queries)/u.exec(rule)?.[0];
  if (pathRights !== undefined) keys.push(`adapters[${config.adapters.findIndex(({ name }) => name === adapter)}].${pathRights}`);
  const outbound = /outbound\.(?:allow|deny)/u.exec(rule)?.[0];
  if (outbound !== undefined) keys.push(outbound);
  return keys;
}

/** The key path of the right that a rule names, if it names one. */
function rightKeys({ access }: Config, rule: string): readonly string[] {
  return access.roles.flatMap(({ name, allows }, role) =>
    allows.flatMap((_, right) => (rule === rightName(name, right) ? [`access.roles[${role}].allows[${right}]`] : [])),
  );
}
