import type { Principal } from '#access/principal.ts';
import type { CustomRoleOptions, Entrance } from '#access/rights/access-options.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import { type AskedOperation, createRights, decideOperation } from '#access/rights/rights.ts';
import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import type { GatewayError, RequestProblem } from '#base/gateway-error.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import { readDestination } from '#outbound/policy/destination.ts';
import type { CallOperation, RuleDecision } from '#relay/relayed-call.ts';
import { decideDestination, pathProblem, type RightfulAdapter } from '#relay/relayed-path.ts';
import { fixedMethod } from '../call.ts';
import type { CallTraits } from '../custom-rights.ts';
import { type CallDecision, decideCall, type Permission } from '../decide-call.ts';

/** Which call is asked about. What is not given is not judged. */
interface CallQuestion {
  readonly route: CallOperation;
  /** The name of an adapter instance. */
  readonly adapter?: string | undefined;
  readonly method?: OutboundCall['method'] | undefined;
  /** The orchestrator's path. For restCall the URI, or its path alone. */
  readonly path?: string | undefined;
  /** The entrance of the call. Absent: rights count as over HTTP, and an approval rule for any entrance matches. */
  readonly via?: Entrance | undefined;
  /** When the call would be made: milliseconds since the epoch. Absent: now. */
  readonly at?: number | undefined;
}

/** The rules of one configuration. */
export interface CallRules {
  readonly customRoles: readonly CustomRoleOptions[];
  readonly approvalRules: readonly ApprovalRule[];
  readonly adapters: readonly (RightfulAdapter & Partial<Pick<AdapterInstance, 'callers'>>)[];
  /** See OutboundSection. */
  refusal(url: URL): GatewayError | undefined;
}

/** The decision about a call that is not made. */
interface ExplainedCall {
  readonly allowed: boolean;
  /** The rules that allow the call, or the one that refuses it. */
  readonly rule: string;
  /** The names of the approvals that the call needs. */
  readonly approvals: readonly string[];
  /** The same in sentences. */
  readonly reason: string;
  /** Undefined where no role and no right allows the call. */
  readonly permission: Permission | undefined;
}

interface Judged {
  readonly call: CallTraits;
  readonly adapter: CallRules['adapters'][number] | undefined;
  /** Of a restCall, where the question has all of it. */
  readonly url: URL | undefined;
}

/** Asks the decision of the call path, and changes nothing. Answers every problem of a question that no call could come from. */
export function explainCall(
  { principal, ...question }: CallQuestion & { readonly principal: Principal },
  rules: CallRules,
): ExplainedCall | { readonly problems: readonly RequestProblem[] } {
  const problems: RequestProblem[] = [];
  const judged =
    question.route === 'restCall' ? readRestCall(question, problems) : readOrchestratorCall(question, rules, problems);
  if (problems.length > 0) return { problems };
  const { customRoles, approvalRules } = rules;
  const { at = Date.now() } = question;
  const via = question.via && [question.via];
  const decision = decideCall({ principal, customRoles, approvalRules, via, at, call: judged.call }, () => ({
    decide: () => destinationRules(judged, rules),
  }));
  const approvals = decision.allowed ? decision.approvals.map(({ name }) => name) : [];
  return { ...answerOf(decision, judged), approvals, permission: decision.permission };
}

function readRestCall({ adapter, method, path, via: entrance = 'http' }: CallQuestion, problems: RequestProblem[]): Judged {
  if (adapter !== undefined)
    problems.push({ pointer: '/adapter', detail: 'has no meaning here: restCall has no adapter instance' });
  const isWhole = path !== undefined && /^[a-z][a-z0-9+.-]*:/iu.test(path);
  const url = path === undefined ? undefined : readUrl(isWhole ? path : withSomeHost(path), problems);
  const whole = isWhole ? url : undefined;
  const target = { adapter: undefined, method, path: url?.pathname, destination: whole?.origin };
  return { call: { operation: 'restCall', ...target, entrance }, adapter: undefined, url: whole };
}

function readUrl(uri: string, problems: RequestProblem[]): URL | undefined {
  const read = readDestination(uri);
  if ('url' in read) return read.url;
  problems.push({ pointer: '/path', detail: read.problem });
  return undefined;
}

/** A path is judged as it would be in a URI; the host has no part in that. */
function withSomeHost(path: string): string {
  return `http://host.invalid/${path.replace(/^\/+/u, '')}`;
}

function readOrchestratorCall(question: CallQuestion, { adapters }: CallRules, problems: RequestProblem[]): Judged {
  const { route: operation, adapter: name, path, via: entrance = 'http' } = question;
  const adapter = adapters.find((each) => each.name === name);
  if (name !== undefined && adapter === undefined) problems.push({ pointer: '/adapter', detail: unknownAdapter(adapters) });
  const fixed = fixedMethod(operation);
  if (fixed !== undefined && question.method !== undefined && question.method !== fixed)
    problems.push({ pointer: '/method', detail: `is always ${fixed} for ${operation}` });
  const problem = path === undefined ? undefined : pathProblem(path);
  if (problem !== undefined) problems.push({ pointer: '/path', detail: problem });
  return { call: { operation, adapter: name, method: fixed ?? question.method, path, entrance }, adapter, url: undefined };
}

function unknownAdapter(adapters: CallRules['adapters']): string {
  const names = adapters.map(({ name }) => JSON.stringify(name)).join(', ');
  return `is no adapter instance; ${names === '' ? 'none is configured' : `there are ${names}`}`;
}

function destinationRules({ call, adapter, url }: Judged, rules: CallRules): RuleDecision {
  const { method, path } = call;
  if (adapter !== undefined && method !== undefined && path !== undefined) return decideDestination(adapter, method, path);
  const refusal = url === undefined ? undefined : rules.refusal(url);
  return refusal === undefined ? { allowed: true, rule: undefined } : { allowed: false, rule: refusal.rule, refusal };
}

function answerOf(decision: CallDecision<unknown>, judged: Judged): Pick<ExplainedCall, 'allowed' | 'rule' | 'reason'> {
  const { operation } = judged.call;
  if (!decision.allowed) {
    const { code, status, message } = decision.refusal;
    const rule = decision.permission === undefined ? `roles of ${operation}` : (decision.rule ?? code);
    return { allowed: false, rule, reason: `The caller gets ${status} ${code}: ${message}` };
  }
  const { permission, rule = '' } = decision;
  const reason = `${reasonOf(permission, judged)}${approvalSentence(decision.approvals)}`;
  // The rule on record has no role of the specification.
  if (permission.kind === 'right') return { allowed: true, rule, reason };
  const name = `role ${permission.role}`;
  return { allowed: true, rule: rule === '' ? name : `${name}; ${rule}`, reason };
}

function reasonOf(permission: Permission, judged: Judged): string {
  const { operation } = judged.call;
  const by = permission.kind === 'right' ? ` by its right allows[${permission.right}]` : '';
  const open = notJudged(judged);
  const rest = open.length === 0 ? '' : ` Not judged, because the question does not say it: ${open.join(', ')}.`;
  const later = operation === 'restCall' ? ' The outbound policy judges each address that a host name resolves to.' : '';
  return `The role ${permission.role} allows this ${operation}${by}.${rest}${later}`;
}

function approvalSentence(rules: readonly ApprovalRule[]): string {
  if (rules.length === 0) return '';
  const names = rules.map(({ name }) => name).join(', ');
  return ` People must approve the call before it leaves: ${names}.`;
}

function notJudged({ call, url }: Judged): readonly string[] {
  const { operation, adapter, method, path } = call;
  const destination = operation === 'restCall' ? { host: url } : { adapter };
  return Object.entries({ ...destination, method, path }).flatMap(([name, value]) => (value === undefined ? [name] : []));
}

/** The decision about an operation that relays no call, before its object is known. */
export function explainOperation(asked: AskedOperation): Pick<ExplainedCall, 'allowed' | 'rule' | 'approvals' | 'reason'> {
  const { principal, operation, customRoles, entrance } = asked;
  const decision = decideOperation(asked);
  const { allowed, reason } = decision;
  if (!decision.allowed)
    return { allowed, rule: `roles of ${operation}`, approvals: [], reason: `The caller gets 403 forbidden: ${reason}` };
  const { by, rule } = decision;
  const scope = by === 'right' ? createRights(() => customRoles, entrance).scope(principal, operation) : 'all';
  const limits = scope === 'all' ? '' : ` It covers these workflows alone: ${scope.join(', ')}.`;
  return { allowed, rule, approvals: [], reason: `${reason}${limits}` };
}
