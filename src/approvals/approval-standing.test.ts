import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvolvedPrincipal } from '#access/people.ts';
import { createPersons } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import { createTestClock } from '../../test/support/gateway/access.ts';
import type { Approval } from './approval.ts';
import { factsOfApproval } from './approval-facts.ts';
import { approvalText, decisionText, proofKeyOf, proofOf } from './approval-proof.ts';
import { lossesOf, standingOf } from './approval-standing.ts';

const key = proofKeyOf('a key of the test');
const ann: Principal = { id: 'ann', username: 'ann', roles: [], groups: [] };
const issuers = 'oidc:["https://issuer","sub"]';

/** Granted by a person, with proofs in order. */
function granted(by: string, ...others: readonly string[]): Approval {
  const facts = {
    principal: ann,
    call: undefined,
    message: 'Go on?',
    reason: undefined,
    task: undefined,
    fingerprint: undefined,
    involved: [],
    bodyDigest: undefined,
    id: 'a',
    subject: 's',
    createdAt: 0,
    expiresAt: Number.MAX_SAFE_INTEGER,
    rules: [{ name: 'rule', approvers: { roles: [], groups: ['leads'] }, count: 1 + others.length, selfApproval: false }],
  } as const;
  const asked = { ...facts, proof: proofOf(approvalText(facts), key) };
  const decisions = [by, ...others].map((id) => {
    const decided = { as: 'granted', principal: { id, username: id }, at: 1, reason: 'x', rules: ['rule'] } as const;
    return { ...decided, proof: proofOf(decisionText(asked, decided), key) };
  });
  const row = {
    status: 'granted',
    changedAt: 1,
    body: undefined,
    preview: undefined,
    use: undefined,
    usedBy: undefined,
  } as const;
  return { ...asked, ...row, isUnannounced: false, isVoid: false, unrecorded: 0, decisions };
}

interface Now {
  readonly granter?: Principal | undefined;
  readonly involved?: readonly InvolvedPrincipal[];
  readonly lacks?: 'asked';
  readonly isGone?: boolean;
  readonly persons?: Readonly<Record<string, readonly string[]>>;
}

async function statusOf(approval: Approval, now: Now): Promise<string | undefined> {
  const facts = factsOfApproval(approval, key).filter(({ of }) => of !== now.lacks);
  const standing = await standingOf(
    approval,
    { principal: ann, involved: now.involved },
    {
      store: { record: async () => {} },
      clock: createTestClock(),
      key,
      proofs: async () => facts.map((fact) => ({ ...fact, record: 'c/1', at: 1 })),
      principalNow: async (id) => now.granter && { ...now.granter, id },
      isGone: () => now.isGone ?? false,
      persons: createPersons(now.persons ?? {}),
      rules: () => [],
    },
  );
  return standing?.approval.status;
}

test('a grant counts while its granter is an approver, and has no hand in the call at that moment', async () => {
  const lea = { id: 'lea', username: 'lea', roles: [], groups: ['leads'] };
  const approval = granted('lea');
  const involved = [{ id: 'lea', username: 'lea', as: ['event' as const] }];
  assert.deepEqual(
    [
      await statusOf(approval, { granter: lea }),
      await statusOf(approval, { granter: { ...lea, groups: [] } }),
      await statusOf(approval, { granter: lea, isGone: true }),
      await statusOf(approval, { granter: lea, involved }),
      await statusOf(approval, { granter: lea, lacks: 'asked' }),
    ],
    ['granted', 'waiting', 'waiting', 'waiting', undefined],
  );
});

test('a grant of a person of an issuer counts while it is not known that the group is gone', async () => {
  const person = { id: issuers, username: 'lea@issuer', roles: [], groups: ['leads'] };
  const approval = granted(issuers);
  assert.deepEqual(
    [
      await statusOf(approval, { granter: undefined }),
      await statusOf(approval, { granter: person }),
      await statusOf(approval, { granter: { ...person, groups: [] } }),
      await statusOf(approval, { granter: undefined, involved: [{ ...person, as: ['starter'] }] }),
      await statusOf(approval, { granter: undefined, isGone: true }),
    ],
    ['granted', 'granted', 'waiting', 'waiting', 'waiting'],
  );
});

test('a grant does not count once its granter is the same person as somebody involved, or as an earlier granter', async () => {
  const lead = { id: '', username: 'lead', roles: [], groups: ['leads'] };
  const two = granted('lea', 'leo');
  const [lea = '', leo = ''] = two.decisions.map(({ proof }) => proof);
  assert.deepEqual(
    [
      await statusOf(granted('lea'), { granter: lead, persons: { ann: ['ann', 'lea'] } }),
      await statusOf(granted('lea'), { granter: lead, persons: { ann: ['ann'], lea: ['lea'] } }),
    ],
    ['waiting', 'granted'],
  );
  const distinct = (id: string) => Promise.resolve({ ...lead, id, username: id });
  const losses = (persons: Readonly<Record<string, readonly string[]>>, gone: readonly string[] = []) =>
    lossesOf(two, { principalNow: distinct, isGone: (id) => gone.includes(id), persons: createPersons(persons) });
  assert.deepEqual([...(await losses({}))], []);
  assert.deepEqual(
    [...(await losses({ lea: ['lea', 'leo'] }))],
    [[leo, 'its granter is the same person as lea, who granted it before.']],
  );
  // The grant that goes first leaves room for the other one.
  assert.deepEqual([...(await losses({ lea: ['lea', 'leo'] }, ['lea'])).keys()], [lea]);
});
