import { type Call, methodOf } from '#calls/call.ts';
import { createProblemList, invalidRequest, type ProblemList } from '#json/forms/problem-list.ts';
import { readEnvelope } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/json-pointer.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import { checkParams, type OrchestratorParams, type RequestParams } from '#relay/orchestrator-request.ts';
import type { Checked } from '#relay/relayed-call.ts';
import type { ExpressionPool } from '#workflows/jq/expression-pool.ts';
import { secretMentions } from '#workflows/reader/jq-source.ts';
import type { Argument, TaskEvaluation } from '../interpreter/effects.ts';
import type { RunEvent } from '../interpreter/state/run-events.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';

type Plain = Readonly<Record<string, unknown>>;

/** Members whose bytes or digits matter. */
const opaque = opaqueMembers(['/body', '/headers', '/query', '/parameters']);

/**
 * The evaluated `with` of a task. It was checked where the document was read, but expressions may have put anything in its place. Each
 * reading notes its problem; `check` throws them all as `invalid-request`.
 */
export interface CallArguments {
  readonly problems: ProblemList;
  /** A problem where it is missing. */
  object(name: string): CallArguments;
  text(name: string): string | undefined;
  /** Empty where it is missing, which is a problem. */
  requiredText(name: string): string;
  /** None where it is missing. */
  texts(name: string): readonly string[];
  flag(name: string): boolean | undefined;
  word<const W extends string>(name: string, words: readonly W[]): W | undefined;
  /** The first word where it is missing, which is a problem. */
  requiredWord<const W extends string>(name: string, words: readonly [W, ...W[]]): W;
  value(name: string): unknown;
  /** The JSON text of `body`, `headers`, `query` or `parameters`. */
  span(name: string): Buffer | undefined;
  /** The members of `headers`, `query` or `parameters`, of any kind. None where it is missing or null. */
  members(name: string): readonly (readonly [string, JsonNode])[];
  check(): void;
}

/** Throws `invalid-json` where the text is not acceptable, as for a request. */
export function readArguments(text: string): CallArguments {
  const { value, spans } = readEnvelope(Buffer.from(text), { opaque });
  const problems = createProblemList();
  if (!isObject(value)) problems.add('', 'is no object of arguments');
  return argumentsIn(isObject(value) ? value : {}, problems, spans, '');
}

function argumentsIn(values: Plain, problems: ProblemList, spans: ReadonlyMap<string, Buffer>, at: string): CallArguments {
  const given = (name: string): unknown => (Object.hasOwn(values, name) ? values[name] : undefined);
  const ofKind = <T>(name: string, is: (value: unknown) => value is T, wanted: string): T | undefined => {
    const value = given(name);
    if (value === undefined || is(value)) return value;
    problems.add(`${at}/${name}`, `is not ${wanted}`);
    return undefined;
  };
  const require = (name: string): void => {
    if (given(name) === undefined) problems.add(`${at}/${name}`, 'is missing');
  };
  const word = <const W extends string>(name: string, words: readonly W[]): W | undefined =>
    ofKind(name, (value): value is W => words.some((known) => known === value), `one of ${words.join(', ')}`);
  const span = (name: string): Buffer | undefined => spans.get(`${at}/${name}`);
  return {
    problems,
    object(name) {
      const value = ofKind(name, isObject, 'an object');
      require(name);
      return argumentsIn(value ?? {}, problems, spans, `${at}/${name}`);
    },
    text: (name) => ofKind(name, isText, 'a text'),
    requiredText(name) {
      require(name);
      return ofKind(name, isText, 'a text') ?? '';
    },
    texts: (name) =>
      ofKind(name, (value): value is string[] => Array.isArray(value) && value.every(isText), 'a list of texts') ?? [],
    flag: (name) => ofKind(name, (value) => typeof value === 'boolean', 'true or false'),
    word,
    requiredWord(name, words) {
      require(name);
      return word(name, words) ?? words[0];
    },
    value: given,
    span,
    members(name) {
      const bytes = span(name);
      const node = bytes === undefined ? undefined : readJsonTree(bytes);
      if (node === undefined || node.kind === 'null') return [];
      if (node.kind === 'object') return node.members;
      problems.add(`${at}/${name}`, 'is no object');
      return [];
    },
    check() {
      if (problems.problems.length > 0) throw invalidRequest(problems.problems);
    },
  };
}

function isObject(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A text, a number with its digits, true or false; undefined for every other kind. */
export function argumentText(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  return node.kind === 'boolean' ? String(node.value) : undefined;
}

/** `content`: the body as a value. `response`: with request, status and headers. `raw`: the body in base64. */
type CallOutput = 'content' | 'response' | 'raw';

export interface PreparedCall {
  readonly call: Call;
  /** It may change something, so it is made once at most. */
  readonly changes: boolean;
  readonly output: CallOutput;
  /** What `output: response` says of the request: nothing of its credentials. */
  readonly request: {
    readonly method: string;
    /** Of a call to an orchestrator: its path. The address belongs to the operator. */
    readonly uri: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  /** Whether the status is no error. */
  readonly accepts: (status: number) => boolean;
}

export const verbs = ['DELETE', 'GET', 'PATCH', 'PUT', 'POST'] as const;

interface Evaluating {
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly secrets: RunSecrets;
}

type Outcome = Extract<RunEvent, { readonly kind: 'evaluated' }>['outcome'];

export async function evaluateTask(
  { expressions, secrets }: Evaluating,
  evaluation: TaskEvaluation,
): Promise<{ readonly outcome: Outcome } | { readonly error: EffectError }> {
  const bound = withSecrets(secrets, evaluation);
  if ('error' in bound) return bound;
  return { outcome: await expressions.evaluate(bound.evaluation) };
}

/** Expressions get placeholders: no thread has the value of a secret. */
function withSecrets(
  secrets: RunSecrets,
  evaluation: TaskEvaluation,
): { readonly evaluation: TaskEvaluation } | { readonly error: EffectError } {
  if (!evaluation.usesSecrets) return { evaluation };
  const bound = secrets.variable(evaluation.expressions.flatMap(secretMentions));
  if ('refused' in bound) return { error: standardError('authorization', 'A secret may not be used', bound.refused) };
  if ('text' in bound) return { evaluation: { ...evaluation, variables: { ...evaluation.variables, secrets: bound.text } } };
  const names = bound.missing.map((name) => `"${name}"`).join(', ');
  const detail = `automations.secrets of the configuration does not have ${names}; ask the operator of the gateway.`;
  return { error: standardError('configuration', 'A secret is not configured', detail) };
}

/** The arguments, in which placeholders may be. */
export async function evaluateArgument(
  evaluating: Evaluating,
  given: Argument,
): Promise<{ readonly text: string } | { readonly error: EffectError }> {
  if ('value' in given) return { text: given.value };
  const answer = await evaluateTask(evaluating, given.evaluation);
  if ('error' in answer) return answer;
  const { outcome } = answer;
  if ('results' in outcome) return { text: outcome.results[0] ?? 'null' };
  return { error: standardError('expression', 'Expression failed', `with: ${outcome.detail}`) };
}

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
