import { entrances, rightMethods } from '#access/access-options.ts';
import { type AskedPrincipal, findAskedPrincipal } from '#access/asked-principal.ts';
import { decide } from '#access/decide.ts';
import type { Principal } from '#access/principal.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { type CallQuestion, type CallRules, explainCall } from '#calls/explain-call.ts';
import { json, type Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { invalidRequest } from '#json/problem-list.ts';
import { monitoring } from './route-traits.ts';

interface ExplainRoutesOptions {
  /** See `Access`. */
  readonly principalNamed: (username: string) => Principal | undefined;
  /** Read for each request, since a reload replaces them. */
  readonly rules: () => CallRules;
  /** All routes of the gateway. */
  readonly routes: () => readonly Route[];
}

interface AccessQuestion extends AskedPrincipal, Omit<CallQuestion, 'route'> {
  /** An operationId. */
  readonly route: string;
}

interface AccessAnswer {
  readonly allowed: boolean;
  readonly rule: string;
  readonly approvals: readonly string[];
  readonly reason: string;
}

const questionSchema = namedObject('AccessQuestion', {
  principal: Type.Optional(Type.String({ description: 'A user or client of the configuration; or give `roles`.' })),
  roles: Type.Optional(Type.Array(Type.String(), { description: 'Names of roles, of the specification or your own.' })),
  route: Type.String({ description: 'The operationId of a route.' }),
  adapter: Type.Optional(Type.String({ description: 'Name of the adapter instance.' })),
  method: Type.Optional(Type.Enum([...rightMethods], { description: 'Method at the far side.' })),
  path: Type.Optional(Type.String({ description: 'Path at the orchestrator; for `restCall` the URI, or its path alone.' })),
  via: Type.Optional(
    Type.Enum([...entrances], { description: 'The entrance of the call. Absent: a rule of any entrance matches.' }),
  ),
});

/** Says who may do what, and by which rule. It makes no call and records nothing. */
export function explainRoutes(options: ExplainRoutesOptions): readonly Route[] {
  return [
    {
      method: 'POST',
      url: '/access/explain',
      access: ['admin'],
      body: { kind: 'json', schema: questionSchema },
      handle: ({ body }) => json(200, explained(body as AccessQuestion, options)),
      ...monitoring,
      docs: {
        tag: 'access',
        operationId: 'explainAccess',
        summary: 'Explain whether a principal may make a request, and why',
        description:
          'Asks the decision that every call takes, and sends nothing. `adapter`, `method` and `path` are for the routes that relay a call; the answer does not judge what is not given. For other routes the answer is about roles alone: the access lists of an automation (gbac) hold as well.',
        success: {
          status: 200,
          description: 'The decision.',
          schema: namedObject('AccessAnswer', {
            allowed: Type.Boolean(),
            rule: Type.String({ description: 'The rules that allow the request, or the one that refuses it.' }),
            approvals: Type.Array(Type.String(), { description: 'Names of the approvals that the call needs.' }),
            reason: Type.String({ description: 'The same in sentences.' }),
          }),
        },
        errors: [],
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
      },
    },
  ];
}

/** Throws 400 `invalid-request` with every problem of the question. */
function explained(question: AccessQuestion, { principalNamed, rules: read, routes }: ExplainRoutesOptions): AccessAnswer {
  const rules = read();
  const found = findAskedPrincipal(question, { principalNamed, customRoles: rules.customRoles.map(({ name }) => name) });
  const route = routes().find(({ docs }) => docs.operationId === question.route);
  const problems: RequestProblem[] = 'problems' in found ? [...found.problems] : [];
  if (route === undefined) problems.push({ pointer: '/route', detail: 'is no operationId of /openapi.json' });
  if ('problems' in found || route === undefined) throw invalidRequest(problems);
  const { principal } = found;
  if (route.operation === undefined) return ofRoles(route, question, principal);
  const { adapter, method, path, via } = question;
  const answer = explainCall({ principal, route: route.operation, adapter, method, path, via }, rules);
  if ('problems' in answer) throw invalidRequest(answer.problems);
  const { allowed, rule, approvals, reason } = answer;
  return { allowed, rule, approvals, reason };
}

/** A route that relays no call: its roles decide. */
function ofRoles({ access, docs }: Route, question: AccessQuestion, principal: Principal): AccessAnswer {
  const unused = (['adapter', 'method', 'path', 'via'] as const).filter((name) => question[name] !== undefined);
  if (unused.length > 0)
    throw invalidRequest(
      unused.map((name) => ({ pointer: `/${name}`, detail: `has no meaning here: ${docs.operationId} relays no call` })),
    );
  if (typeof access === 'string') {
    const reason =
      access === 'everyone' ? 'Every caller may call it, without credentials.' : 'Every authenticated caller may call it.';
    return { allowed: true, rule: access, approvals: [], reason };
  }
  const { allowed, reason } = decide({ principal, roles: access });
  if (!allowed)
    return { allowed, rule: `roles of ${docs.operationId}`, approvals: [], reason: `The caller gets 403 forbidden: ${reason}` };
  return { allowed, rule: `role ${access.find((role) => principal.roles.includes(role))}`, approvals: [], reason };
}
