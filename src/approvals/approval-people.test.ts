import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Involvement, involvements } from '#access/people.ts';
import { createPersons } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import type { SelfApproval } from '#access/rights/approval-options.ts';
import type { Approval, ApprovalDecision, ApprovalTerms } from './approval.ts';
import { grantableRules, obstacleCodes, obstacleOf, warningsOf } from './approval-people.ts';

function person(name: string, ...groups: readonly string[]): Principal {
  return { id: name, username: name, roles: [], groups };
}

const { isSame } = createPersons({ ann: ['ann', 'ann-cli'] });
const granter = (principal: Principal) => ({ principal, isSame });
const leads = { roles: [], groups: ['leads'] };

function terms(selfApproval: SelfApproval = false, more: Partial<ApprovalTerms> = {}): ApprovalTerms {
  return { name: 'rule', approvers: leads, count: 1, selfApproval, ...more };
}

function asked(more: Partial<Approval> = {}): Approval {
  return {
    id: 'a',
    subject: 's',
    status: 'waiting',
    createdAt: 0,
    expiresAt: 10,
    changedAt: 0,
    body: undefined,
    preview: undefined,
    use: undefined,
    usedBy: undefined,
    isUnannounced: false,
    isVoid: false,
    unrecorded: 0,
    principal: person('ann', 'leads'),
    call: undefined,
    message: undefined,
    reason: undefined,
    task: undefined,
    fingerprint: undefined,
    rules: [terms()],
    involved: [],
    bodyDigest: undefined,
    proof: undefined,
    decisions: [],
    ...more,
  };
}

function granted(by: string, more: Partial<ApprovalDecision> = {}): ApprovalDecision {
  const principal = { id: by, username: by };
  return { as: 'granted', principal, at: 1, reason: 'x', rules: ['rule'], proof: 'p', ...more };
}

test('what may exclude a person from a grant is named, the first reason of the list', () => {
  const involved = [{ id: 'wes', username: 'wes', as: ['author', 'workflow'] as const }];
  const code = (name: string, approval: Partial<Approval> = {}, groups = ['leads']) =>
    obstacleOf(asked({ involved, ...approval }), granter(person(name, ...groups)))?.code;
  assert.deepEqual(
    [
      code('ann', { status: 'used', lowest: 999_000 }),
      code('ann', { status: 'used' }),
      code('lea', { decisions: [granted('lea')] }),
      code('ann'),
      code('wes'),
      code('eve', {}, []),
      code('lea'),
      code('lea', { decisions: [granted('lea', { withdrawn: { at: 2, reason: 'x' } })] }),
      code('ann', { rules: [terms(true)] }),
      code('wes', { rules: [terms('authors')] }),
      code('ann', { rules: [terms('authors')] }),
      code('ann-cli'),
      code('WES'),
      code('ann-cli', {}, []),
      code('LEA', { decisions: [granted('lea')] }),
      code('ann-cli', { rules: [terms(true)] }),
      code('ann-cli', { rules: [terms(true)], decisions: [granted('ann')] }),
    ],
    [
      'newer-version',
      'over',
      'decided',
      'caller',
      'involved',
      'not-approver',
      ...Array.from({ length: 4 }, () => undefined),
      'caller',
      ...Array.from({ length: 4 }, () => 'same-person'),
      undefined,
      'same-person',
    ],
  );
  const others = ['decided', 'caller', 'involved', 'same-person', 'not-approver'];
  assert.deepEqual(obstacleCodes, ['newer-version', 'over', ...others]);
});

test('an involvement other than authorship excludes also where authors may grant', () => {
  const authorship: readonly Involvement[] = ['author', 'workflow', 'form'];
  const ofOtherRuns: readonly Involvement[] = ['parent', 'repeated'];
  for (const one of involvements) {
    const may = (as: readonly Involvement[], selfApproval: SelfApproval) =>
      grantableRules(
        asked({ involved: [{ id: 'wes', username: 'wes', as }], rules: [terms(selfApproval)] }),
        granter(person('wes', 'leads')),
      ).length === 1;
    assert.equal(may([one], false), false, one);
    assert.equal(may([one], 'authors'), authorship.includes(one), one);
    assert.equal(may(['author', one], 'authors'), [...authorship, ...ofOtherRuns].includes(one), one);
    assert.equal(may([one], true), true, one);
  }
});

test('no person of a call grants it, with any hands of any people in it, unless its rule says so', () => {
  const names = ['ann', 'lea', 'leo', 'wes', 'eve'] as const;
  const hands = fc.array(
    fc.record({
      id: fc.constantFrom(...names),
      as: fc.uniqueArray(fc.constantFrom(...involvements), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 4 },
  );
  const rules = fc.array(fc.constantFrom<SelfApproval>(false, 'authors', true), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(hands, rules, fc.constantFrom(...names), fc.boolean(), (given, kinds, name, isLead) => {
      const involved = given.map(({ id, as }) => ({ id, username: id, as }));
      const approval = asked({ involved, rules: kinds.map((kind, index) => terms(kind, { name: `${index}` })) });
      const own = involved.filter(({ id }) => id === name).flatMap(({ as }) => as);
      const isCaller = name === 'ann';
      const expected = kinds.flatMap((kind, index) => {
        const isFree = !isCaller && own.length === 0;
        // In which run a person did it says nothing about what it did.
        const did = own.filter((as) => as !== 'parent' && as !== 'repeated');
        const isAuthor = !isCaller && did.length > 0 && did.every((as) => as === 'author' || as === 'workflow' || as === 'form');
        return isLead && (kind === true || isFree || (kind === 'authors' && isAuthor)) ? [`${index}`] : [];
      });
      const principal = granter(person(name, ...(isLead ? ['leads'] : [])));
      assert.deepEqual(grantableRules(approval, principal), expected);
      assert.equal(obstacleOf(approval, principal) === undefined, expected.length > 0);
    }),
  );
});

test('a rule that the known people cannot satisfy has a warning, which counts grants that are there', () => {
  const known = [person('ann', 'leads'), person('lea', 'leads'), person('eve')];
  assert.deepEqual(warningsOf(asked(), known, isSame), []);
  assert.match(
    warningsOf(asked({ rules: [terms(false, { count: 2 })] }), known, isSame).join(),
    /^Only 1 of the known people could/u,
  );
  const half = asked({ rules: [terms(false, { count: 2 })], decisions: [granted('leo')] });
  assert.deepEqual(warningsOf(half, known, isSame), []);
  const nobody = asked({ principal: person('lea', 'leads'), involved: [{ id: 'ann', username: 'ann', as: ['form'] }] });
  assert.match(warningsOf(nobody, known, isSame).join(), /^No known person could grant for the rule rule \(leads\)/u);
  const twice = [person('lea', 'leads'), person('Lea', 'leads'), person('ann-cli', 'leads')];
  assert.match(warningsOf(asked({ rules: [terms(false, { count: 2 })] }), twice, isSame).join(), /^Only 1 of/u);
  assert.deepEqual(warningsOf({ ...nobody, status: 'used' }, known, isSame), []);
});
