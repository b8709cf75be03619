import type { Principal } from '#access/principal.ts';
import { findAskedPrincipal } from '#access/principals.ts';
import { entrances, rightMethods } from '#access/rights/access-options.ts';
import type { AskedOperation } from '#access/rights/rights.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { Type, type ValueOf } from '#base/json-schema.ts';
import { type CallRules, explainCall, explainOperation } from '#calls/explain/explain-call.ts';
import { type IdentityNeeds, identifyCaller } from '#calls/identify-caller.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { explainStoring, type WorkflowCatalogue } from '#workflows/catalogue/workflow-catalogue.ts';
import { type ApiRoute, accessOf, json, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { monitoring } from '../route-traits.ts';

interface ExplainRoutesOptions {
  /** See `Access`. */
  readonly principalNamed: (username: string) => Principal | undefined;
  /** Read for each request, since a reload replaces them. */
  readonly rules: () => CallRules;
  readonly identities: IdentityNeeds;
  readonly checkWorkflow: WorkflowCatalogue['check'];
  /** All routes of the gateway. */
  readonly routes: () => readonly ApiRoute[];
}

type AccessQuestion = ValueOf<typeof questionSchema>;

interface AccessAnswer {
  readonly allowed: boolean;
  readonly rule: string;
  readonly approvals: readonly string[];
  readonly reason: string;
  /** The caller at the orchestrator. */
  readonly actsAs?: { readonly name: string; readonly groups: readonly string[] };
  /** Of the document in the question. */
  readonly errors?: readonly RequestProblem[];
}

const questionSchema = namedObject('AccessQuestion', {
  principal: Type.Optional(Type.String({ description: 'A user or client of the configuration; or give `roles`.' })),
  roles: Type.Optional(Type.Array(Type.String(), { description: 'Names of roles, of the specification or your own.' })),
  route: Type.String({ description: 'The operationId of a route.' }),
  adapter: Type.Optional(Type.String({ description: 'Name of the adapter instance.' })),
  method: Type.Optional(Type.Enum([...rightMethods], { description: 'Method at the upstream.' })),
  path: Type.Optional(Type.String({ description: 'Path at the orchestrator; for `restCall` the URI, or its path alone.' })),
  workflow: Type.Optional(
    Type.String({ description: 'With the route `createWorkflow`: the text of the document, YAML or JSON.' }),
  ),
  via: Type.Optional(
    Type.Enum([...entrances], {
      description: 'The entrance. Absent: rights count as over `http`, and an approval rule for any entrance matches.',
    }),
  ),
});

const explainAccess = route('POST /access/explain', {
  ...monitoring,
  tag: 'access',
  operationId: 'explainAccess',
  summary: 'Explain whether a principal may make a request, and why',
  description:
    'Asks the decision that every call takes, and sends nothing. `adapter`, `method` and `path` are for the routes that relay a call; the answer does not judge what is not given. For other routes the answer is about the role or the right alone: the access lists of an automation (gbac) hold as well.',
  body: jsonBody(questionSchema),
  reply: {
    description: 'The decision.',
    schema: namedObject('AccessAnswer', {
      allowed: Type.Boolean(),
      rule: Type.String({ description: 'The rules that allow the request, or the one that refuses it.' }),
      approvals: Type.Array(Type.String(), { description: 'Names of the approvals that the call needs.' }),
      reason: Type.String({ description: 'The same in sentences.' }),
      actsAs: Type.Optional(
        namedObject('OrchestratorIdentity', {
          name: Type.String(),
          groups: Type.Array(Type.String(), {
            description: 'In a run, those of them that everybody who wrote it has too, apart from `auth.authors`.',
          }),
        }),
      ),
      errors: Type.Optional(
        Type.Array(
          namedObject('AccessAnswerError', {
            pointer: Type.String({ description: 'Place in `workflow` (RFC 6901).' }),
            detail: Type.String(),
            line: Type.Optional(Type.Integer({ minimum: 1 })),
            column: Type.Optional(Type.Integer({ minimum: 1 })),
          }),
          { description: 'With `workflow`: its problems, or the calls for which a right is missing.' },
        ),
      ),
    }),
  },
  example: {
    request: {
      principal: 'ann',
      route: 'restQuery',
      adapter: 'Local NSO',
      path: 'restconf/data/tailf-ncs:devices/device=core-1',
    },
    reply: {
      allowed: true,
      rule: 'role noc, allows[0]; allowPaths.queries',
      approvals: [],
      reason: 'The role noc allows this restQuery by its right allows[0].',
    },
  },
});

/** Says who may do what, and by which rule. It makes no call and records nothing. */
export function explainRoutes(options: ExplainRoutesOptions): readonly ApiRoute[] {
  return [explainAccess.serve(async ({ body }) => json(200, await explain(body, options)))];
}

/** Throws 400 `invalid-request` with every problem of the question. */
async function explain(question: AccessQuestion, options: ExplainRoutesOptions): Promise<AccessAnswer> {
  const { principalNamed, rules: read, routes } = options;
  const rules = read();
  const { customRoles } = rules;
  const found = findAskedPrincipal(question, { principalNamed, customRoles: customRoles.map(({ name }) => name) });
  const route = routes().find(({ operationId }) => operationId === question.route);
  const problems: RequestProblem[] = 'problems' in found ? [...found.problems] : [];
  if (route === undefined) problems.push({ pointer: '/route', detail: 'is no operationId of /openapi.json' });
  if ('problems' in found || route === undefined) throw invalidRequest(problems);
  const { principal } = found;
  const { workflow: text, adapter, method, path, via } = question;
  refuseWorkflow(question, route);
  if (route.operation !== undefined) {
    const answer = ofCall({ principal, route: route.operation, adapter, method, path, via }, rules);
    return answer.allowed ? await withIdentity(answer, { principal, adapter }, options) : answer;
  }
  const answer = ofOperation(route, question, { principal, customRoles, entrance: via ?? 'http' });
  if (text === undefined || !answer.allowed) return answer;
  return { ...answer, ...(await explainStoring(options.checkWorkflow, { principal, text })) };
}

function refuseWorkflow({ workflow }: AccessQuestion, { operationId }: ApiRoute): void {
  if (workflow !== undefined && operationId !== 'createWorkflow')
    throw invalidRequest([{ pointer: '/workflow', detail: 'has no meaning here: give it with the route createWorkflow' }]);
}

function ofCall(asked: Parameters<typeof explainCall>[0], rules: CallRules): AccessAnswer {
  const answer = explainCall(asked, rules);
  if ('problems' in answer) throw invalidRequest(answer.problems);
  const { allowed, rule, approvals, reason } = answer;
  return { allowed, rule, approvals, reason };
}

/** Of a run it is said without those who wrote it, whose groups may take some away. */
async function withIdentity(
  answer: AccessAnswer,
  { principal, adapter }: Pick<AccessQuestion, 'adapter'> & { readonly principal: Principal },
  { rules, identities }: ExplainRoutesOptions,
): Promise<AccessAnswer> {
  const callers = rules().adapters.find(({ name }) => name === adapter)?.callers;
  if (callers === undefined || principal.id === '') return answer;
  try {
    const actsAs = await identifyCaller(callers, { principal, isRemembered: false }, identities);
    const groups = actsAs.groups.length === 0 ? 'without a group' : `with the groups ${actsAs.groups.join(', ')}`;
    return { ...answer, actsAs, reason: `${answer.reason} It would go to the orchestrator as ${actsAs.name}, ${groups}.` };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'identity-unmapped') throw error;
    const reason = `The caller gets ${error.status} ${error.code}: ${error.message}`;
    return { allowed: false, rule: error.code, approvals: [], reason };
  }
}

/** A route that relays no call. */
function ofOperation(route: ApiRoute, question: AccessQuestion, asked: Omit<AskedOperation, 'operation'>): AccessAnswer {
  const { operationId } = route;
  const unused = (['adapter', 'method', 'path'] as const).filter((name) => question[name] !== undefined);
  if (unused.length > 0)
    throw invalidRequest(
      unused.map((name) => ({ pointer: `/${name}`, detail: `has no meaning here: ${operationId} relays no call` })),
    );
  if (accessOf(route) === 'everyone')
    return { allowed: true, rule: 'everyone', approvals: [], reason: 'Every caller may call it, without credentials.' };
  return explainOperation({ ...asked, operation: operationId });
}
