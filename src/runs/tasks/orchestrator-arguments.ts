import { type Call, methodOf } from '#calls/call.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { checkParams, type OrchestratorParams, type RequestParams } from '#relay/orchestrator-request.ts';
import type { Checked } from '#relay/relayed-call.ts';
import { type CallArguments, type PreparedCall, verbs } from './arguments.ts';

type OrchestratorCall = Exclude<Call, { readonly operation: 'restCall' }>;
type OrchestratorFunction = 'orchestratorAction' | 'orchestratorQuery' | 'orchestratorRequest';

/** Whether the operator says that a POST to the path changes nothing. */
export type IsReadAction = (adapter: string, path: string) => boolean;

/** A call to an orchestrator. Throws `invalid-request` with every problem of its arguments. */
export function orchestratorArguments(
  name: OrchestratorFunction,
  given: CallArguments,
  isReadAction: IsReadAction,
): PreparedCall {
  const adapter = given.requiredText('adapter');
  const output = given.word('output', ['content', 'response']) ?? 'content';
  const params = given.object('params');
  const path = params.requiredText('path');
  const accept = params.requiredText('accept');
  const contentType = name === 'orchestratorQuery' ? undefined : params.text('contentType');
  const method = name === 'orchestratorRequest' ? params.requiredWord('method', verbs) : methods[name];
  const repeatable = (name === 'orchestratorAction' && given.flag('repeatable')) || undefined;
  given.check();
  const body = name === 'orchestratorQuery' ? undefined : given.span('body');
  const read: RequestParams = { method, path, accept, ...(contentType !== undefined && { contentType }) };
  const passesErrors = output === 'response';
  const call = callOf(name, { adapter, passesErrors, body, params: checkedParams(read, body), repeatable });
  const headers = { Accept: accept, ...(contentType !== undefined && { 'Content-Type': contentType }) };
  return { call, changes: mayChange(call, isReadAction), output, request: { method, uri: path, headers }, accepts: () => true };
}

const methods = { orchestratorAction: 'POST', orchestratorQuery: 'GET' } as const;

function checkedParams(params: RequestParams, body: Buffer | undefined): Checked<RequestParams> {
  const { problems, params: found } = checkParams<RequestParams>({ ...params }, body);
  if (found === undefined) throw invalidRequest(problems);
  return found;
}

function mayChange(call: OrchestratorCall, isReadAction: IsReadAction): boolean {
  const method = methodOf(call);
  if (method === 'GET' || (call.operation === 'restAction' && call.repeatable === true)) return false;
  return method !== 'POST' || !isReadAction(call.adapter, call.params.path);
}

function callOf(
  name: OrchestratorFunction,
  given: {
    readonly adapter: string;
    readonly passesErrors: boolean;
    readonly params: Checked<RequestParams> & Checked<OrchestratorParams>;
    readonly body: Buffer | undefined;
    readonly repeatable: true | undefined;
  },
): OrchestratorCall {
  const { body, repeatable, ...others } = given;
  if (name === 'orchestratorQuery') return { operation: 'restQuery', ...others };
  if (name === 'orchestratorRequest') return { operation: 'restRequest', ...others, passedOn: {}, body };
  return { operation: 'restAction', ...others, passedOn: {}, body: body ?? Buffer.from('{}'), repeatable };
}
