import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import { createTestClock } from '../../test/support/gateway/access.ts';
import type { Approval } from './approval.ts';
import { factsOfApproval } from './approval-facts.ts';
import { approvalText, decisionText, proofKeyOf, proofOf } from './approval-proof.ts';
import { standingOf } from './approval-standing.ts';

const key = proofKeyOf('a key of the test');
const ann: Principal = { id: 'ann', username: 'ann', roles: [], groups: [] };
const issuers = 'oidc:["https://issuer","sub"]';

/** Granted by a person, with proofs in order. */
function granted(by: string): Approval {
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
    rules: [{ name: 'rule', approvers: { roles: [], groups: ['leads'] }, count: 1, selfApproval: false }],
  } as const;
  const asked = { ...facts, proof: proofOf(approvalText(facts), key) };
  const decided = { as: 'granted', principal: { id: by, username: by }, at: 1, reason: 'x', rules: ['rule'] } as const;
  const decision = { ...decided, proof: proofOf(decisionText(asked, decided), key) };
  const row = {
    status: 'granted',
    changedAt: 1,
    body: undefined,
    preview: undefined,
    use: undefined,
    usedBy: undefined,
  } as const;
  return { ...asked, ...row, isUnannounced: false, isVoid: false, unrecorded: 0, decisions: [decision] };
}

async function statusOf(
  approval: Approval,
  now: { readonly granter?: Principal | undefined; readonly involved?: readonly InvolvedPrincipal[]; readonly lacks?: 'asked' },
): Promise<string | undefined> {
  const facts = factsOfApproval(approval, key).filter(({ of }) => of !== now.lacks);
  const standing = await standingOf(
    approval,
    { principal: ann, involved: now.involved },
    {
      store: { record: async () => {} },
      clock: createTestClock(),
      key,
      proofs: async () => facts.map((fact) => ({ ...fact, record: 'c/1', at: 1 })),
      principalNow: async () => now.granter,
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
      await statusOf(approval, { granter: undefined }),
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
    ],
    ['granted', 'granted', 'waiting', 'waiting'],
  );
});
