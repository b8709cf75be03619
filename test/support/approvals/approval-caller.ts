import assert from 'node:assert/strict';
import { assertProblem } from '../callers/calls.ts';
import type { Reply } from '../callers/http-client.ts';
import { basic, type Gateway, testPassword, testPasswordHash } from '../gateway/start-gateway.ts';

/** People of the tests: `ann` and `bob` are admins who call, `lea` and `leo` are approvers without a role, `eve` has no part. */
export const people = [
  { username: 'ann', passwordHash: testPasswordHash, roles: ['admin'], groups: [] },
  { username: 'bob', passwordHash: testPasswordHash, roles: ['admin'], groups: ['noc-leads'] },
  { username: 'lea', passwordHash: testPasswordHash, roles: [], groups: ['noc-leads'] },
  { username: 'leo', passwordHash: testPasswordHash, roles: [], groups: ['noc-leads'] },
  { username: 'eve', passwordHash: testPasswordHash, roles: ['readonly'], groups: [] },
] as const;

export type Person = (typeof people)[number]['username'];

/** An approval as the gateway answers it, as far as tests look at it. */
export interface SeenApproval {
  readonly id: string;
  readonly status: string;
  readonly mayDecide: boolean;
  readonly principal: string;
  readonly reason?: string;
  readonly expires: string;
  readonly whyNot?: { readonly code: string; readonly detail: string };
  readonly involved: readonly { readonly principal: string; readonly as: readonly string[] }[];
  readonly warnings?: readonly string[];
  readonly run?: string;
  readonly automation?: string;
  readonly workflow?: string;
  readonly message?: string;
  readonly usedBy?: string;
  readonly call?: {
    readonly route: string;
    readonly adapter?: string;
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly user?: string;
    readonly body?: string;
    readonly redacted: boolean;
    readonly secrets?: readonly object[];
  };
  readonly rules: readonly { readonly name: string; readonly grants: number; readonly satisfied: boolean }[];
  readonly decisions: readonly {
    readonly as: string;
    readonly principal: string;
    readonly reason: string;
    readonly withdrawn?: object;
  }[];
  readonly preview?: { readonly kind: string; readonly text?: string; readonly reason?: string };
}

interface ApprovalCaller {
  readonly send: (
    person: Person,
    method: string,
    target: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Reply>;
  /** Asserts a refusal for want of an approval, and answers its id. */
  readonly needed: (reply: Reply) => string;
  readonly read: (person: Person, id: string) => Promise<SeenApproval>;
  readonly list: (person: Person, query?: string) => Promise<readonly SeenApproval[]>;
  readonly decide: (person: Person, id: string, as: 'grant' | 'reject', reason?: string) => Promise<Reply>;
  readonly grant: (person: Person, id: string) => Promise<SeenApproval>;
}

/** `gateway` is asked for each request, since a test may start it again. */
export function approvalCaller(gateway: () => Gateway): ApprovalCaller {
  const send: ApprovalCaller['send'] = (person, method, target, body, headers = {}) => {
    const authorization = basic(person, testPassword);
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return gateway().send({ method, target, headers: { Authorization: authorization, ...type, ...headers }, ...sent });
  };
  const answered = async (reply: Promise<Reply>): Promise<SeenApproval> => {
    const answer = await reply;
    assert.equal(answer.status, 200, answer.text);
    return answer.json() as SeenApproval;
  };
  const decide: ApprovalCaller['decide'] = (person, id, as, reason = 'It is planned.') =>
    send(person, 'POST', `/approvals/${id}/${as}`, { reason });
  return {
    send,
    needed(reply) {
      const { approval } = assertProblem(reply, 403, 'approval-required');
      assert.ok(approval);
      assert.equal(approval.href, `/approvals/${approval.id}`);
      assert.ok(Date.parse(approval.expires) > Date.now());
      return approval.id;
    },
    read: (person, id) => answered(send(person, 'GET', `/approvals/${id}`)),
    async list(person, query = '') {
      const reply = await send(person, 'GET', `/approvals${query}`);
      assert.equal(reply.status, 200, reply.text);
      return (reply.json() as { readonly list: readonly SeenApproval[] }).list;
    },
    decide,
    grant: (person, id) => answered(decide(person, id, 'grant')),
  };
}
