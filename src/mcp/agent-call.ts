import type { KnownAdapter } from '#adapters/known-adapters.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { type Call, methodOf } from '#calls/call.ts';
import { decideEntry } from '#calls/decide-entry.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { shownHeaders } from '#relay/caller-headers.ts';
import { checkParams, type RequestParams } from '#relay/orchestrator-request.ts';
import type { CallOperation } from '#relay/relayed-call.ts';
import { judgeRestCall } from '#relay/rest-call-request.ts';
import type { AgentNeeds } from './agent-needs.ts';
import { permitOnRecord } from './agent-tool.ts';
import type { Entering } from './call-entrance.ts';
import { exactObject, type ToolArguments } from './tool-arguments.ts';
import { argumentOf } from './tool-result.ts';

export interface AgentCall {
  readonly call: Call;
  /** False: the operator says that the call changes nothing, or it is a GET. */
  readonly changes: boolean;
  /** Whose text the reply is. */
  readonly source: string;
  /** How to ask for less. */
  readonly narrow: string;
  /** False: it has credentials, which the gateway does not keep. */
  readonly mayWait: boolean;
}

/** By the name of the tool. Rejects with `forbidden`, `adapter-not-found` and `invalid-request`. */
export type PrepareCall = (given: ToolArguments, entering: Entering, needs: AgentNeeds) => Promise<AgentCall>;

export const prepareQuery: PrepareCall = async (given, entering, needs) => {
  await permitOnRecord('restQuery', entering, needs);
  const adapter = adapterIn(given, 'restQuery', entering, needs);
  const params = paramsOf(given, adapter, undefined);
  return preparedOf({ operation: 'restQuery', adapter: adapter.name, params }, needs);
};

export const prepareAction: PrepareCall = async (given, entering, needs) => {
  const method = (textArgument(given, 'method') ?? 'POST') as RequestParams['method'];
  const operation = method === 'POST' ? 'restAction' : 'restRequest';
  await permitOnRecord(operation, entering, needs);
  const adapter = adapterIn(given, operation, entering, needs);
  const body = await exactObject(given, 'body');
  const params = paramsOf(given, adapter, body, method);
  const of = { adapter: adapter.name, params, passedOn: {} };
  const call: Call =
    operation === 'restAction' ? { operation, ...of, body: body ?? Buffer.from('{}') } : { operation, ...of, body };
  return preparedOf(call, needs);
};

/** What a preview shows: the request of `prepareAction`. */
export const preparePreview: PrepareCall = async (given, entering, needs) => {
  await permitOnRecord('preview', entering, needs);
  const adapter = adapterIn(given, 'restRequest', entering, needs);
  const body = await exactObject(given, 'body');
  const params = paramsOf(given, adapter, body, (textArgument(given, 'method') ?? 'POST') as RequestParams['method']);
  return preparedOf({ operation: 'restRequest', adapter: adapter.name, params, passedOn: {}, body }, needs);
};

export const prepareRestCall: PrepareCall = async (given, entering, needs) => {
  await permitOnRecord('restCall', entering, needs);
  const { uri, verb, headers } = given.values as {
    readonly uri: string;
    readonly verb: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  const body = await exactObject(given, 'body');
  const { problems, request } = judgeRestCall({
    uri,
    verb,
    responseHeaders: true,
    ...(headers && { headers }),
    ...(body && { body: {} }),
  });
  if (request === undefined) throw invalidRequest(named(problems));
  const shown = JSON.stringify(shownHeaders(headers ?? {}));
  return {
    call: { operation: 'restCall', request: { ...request, body } },
    changes: request.verb !== 'GET',
    source: request.destination.host,
    narrow: 'Ask for less by the parameters of that API.',
    mayWait: shown === JSON.stringify(headers ?? {}),
  };
};

function preparedOf(
  call: Exclude<Call, { readonly operation: 'restCall' }>,
  { isReadAction }: Pick<AgentNeeds, 'isReadAction'>,
): AgentCall {
  const method = methodOf(call);
  const { adapter, params } = call;
  return {
    call,
    changes: method !== 'GET' && !(method === 'POST' && isReadAction(adapter, params.path)),
    source: `the orchestrator ${JSON.stringify(adapter)}`,
    narrow:
      'For less add to the path: ?fields=name;state for some leaves, ?depth=2 for few levels, or ?limit=20 for the first entries of a list.',
    mayWait: true,
  };
}

/** One for which the principal has neither role nor right counts as missing. */
function adapterIn(
  { values }: ToolArguments,
  operation: CallOperation,
  { principal }: Entering,
  needs: AgentNeeds,
): KnownAdapter {
  const asked = { principal, operation, entrance: 'mcp', customRoles: needs.customRoles() } as const;
  return needs.adapters().find(String(values['adapter']), (adapter) => decideEntry({ ...asked, adapter }).allowed);
}

function paramsOf(given: ToolArguments, { kind }: KnownAdapter, body: Buffer | undefined, method?: RequestParams['method']) {
  const accept = textArgument(given, 'accept') ?? (kind.name === 'rest' ? 'application/json' : 'application/yang-data+json');
  const read = { ...(method && { method }), path: textArgument(given, 'path'), accept };
  const { problems, params } = checkParams<RequestParams>(read, body);
  if (params === undefined) throw invalidRequest(named(problems));
  return params;
}

function named(problems: readonly RequestProblem[]): readonly RequestProblem[] {
  return problems.map(({ pointer, detail }) => ({ pointer: argumentOf(pointer), detail }));
}

export function textArgument({ values }: ToolArguments, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}
