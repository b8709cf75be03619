import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { eachStore, type TestStore } from '../../test/support/stores/stores.ts';
import { approvers, caller, callWith, type Gateways, hour, leaves, openGateways } from './batches/gateways.test-support.ts';

function ruleSets(): readonly (readonly ApprovalRule[])[] {
  const when = { routes: [], adapters: [], methods: [], paths: [], roles: [], via: [] };
  const rule = { name: 'one', when, approvers: { roles: [], groups: ['leads'] }, count: 1, selfApproval: false, expires: hour };
  return [[rule], [{ ...rule, count: 2 }], [rule, { ...rule, name: 'two', count: 2 }]];
}

const calls = [callWith('{"a":1}'), callWith('{"a":2}')];

/** What the test knows of an approval. */
interface Known {
  readonly id: string;
  readonly call: number;
  readonly rules: readonly ApprovalRule[];
  readonly askedAt: number;
  readonly grants: Set<string>;
  rejected: boolean;
  left: number;
}

/** A step: who does what with which approval. Numbers are taken modulo what there is. */
type Step =
  | {
      readonly kind: 'send';
      readonly call: number;
      readonly named: number | undefined;
      readonly gateway: number;
      readonly times: number;
    }
  | { readonly kind: 'grant' | 'reject'; readonly who: number; readonly named: number }
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'rules'; readonly set: number };

const some = fc.nat({ max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('send' as const),
    call: fc.nat({ max: 1 }),
    named: fc.option(some, { nil: undefined }),
    gateway: fc.nat({ max: 1 }),
    times: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({
    kind: fc.constantFrom('grant' as const, 'grant' as const, 'reject' as const),
    who: fc.nat({ max: 3 }),
    named: some,
  }),
  fc.record({ kind: fc.constant('wait' as const), minutes: fc.constantFrom(1, 70) }),
  fc.record({ kind: fc.constant('rules' as const), set: fc.nat({ max: 2 }) }),
);

async function playedOut({ gates, catalogue, clock }: Gateways, steps: readonly Step[]): Promise<readonly Known[]> {
  const known: Known[] = [];
  let rules = ruleSets()[0] ?? [];
  const send = async ({ call, named, gateway, times }: Extract<Step, { readonly kind: 'send' }>): Promise<void> => {
    const approval = named === undefined || known.length === 0 ? undefined : known[named % known.length];
    const before = { grants: new Set(approval?.grants), rejected: approval?.rejected };
    const results = await Promise.all(
      Array.from({ length: times }, (_, index) => {
        const at = gates[(gateway + index) % 2];
        assert.ok(at);
        const asked = { principal: caller, call: calls[call] ?? callWith(''), rules };
        return leaves(at, { ...asked, reference: { id: approval?.id } });
      }),
    );
    const left = results.filter((result) => result === true).length;
    if (left > 0) {
      assert.ok(approval, 'a call without an approval never leaves');
      assert.equal(approval.call, call, 'an approval is for one call');
      approval.left += left;
      assert.equal(approval.left, 1, 'an approval lets one call leave');
      assert.equal(before.rejected, false);
      assert.ok(clock.now() < approval.askedAt + hour);
      for (const { count } of rules) assert.ok(before.grants.size >= count, 'the rules of now have their grants');
      assert.ok(!before.grants.has('ann') && !before.grants.has('eve'));
    }
    for (const id of results) {
      if (typeof id === 'boolean' || known.some((one) => one.id === id)) continue;
      known.push({ id, call, rules, askedAt: clock.now(), grants: new Set(), rejected: false, left: 0 });
    }
  };
  const decide = async (as: 'grant' | 'reject', who: number, named: number): Promise<void> => {
    const approval = known[named % Math.max(1, known.length)];
    const principal = approvers[who];
    if (approval === undefined || principal === undefined) return;
    try {
      await catalogue[as]({ principal, id: approval.id, reason: 'x' });
      if (as === 'grant') approval.grants.add(principal.id);
      else approval.rejected = true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
    }
  };
  for (const each of steps) {
    if (each.kind === 'send') await send(each);
    else if (each.kind === 'wait') clock.advance(each.minutes * 60_000);
    else if (each.kind === 'rules') rules = ruleSets()[each.set] ?? [];
    else await decide(each.kind, each.who, each.named);
  }
  return known;
}

/** A sequence in which a call leaves: few random ones have that. */
const granted: readonly Step[] = [
  { kind: 'send', call: 0, named: undefined, gateway: 0, times: 1 },
  { kind: 'grant', who: 0, named: 0 },
  { kind: 'send', call: 0, named: 0, gateway: 1, times: 1 },
];

function suiteOf(store: TestStore): void {
  test('no sequence of requests, decisions, waits and changes of rules lets a call leave without its grants, or twice', async (t) => {
    const gateways = await openGateways(t, store);
    let left = 0;
    await fc.assert(
      fc.asyncProperty<[readonly Step[]]>(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const known = await playedOut(gateways, steps);
        left += known.reduce((sum, one) => sum + one.left, 0);
        // The next sequence begins without open approvals.
        gateways.clock.advance(2 * hour);
      }),
      { numRuns: 120, examples: [[granted]] },
    );
    assert.ok(left > 0, 'some call left in some sequence');
  });

  test('two gateways that send one approved call at the same moment let it leave once', async (t) => {
    const gateways = await openGateways(t, store);
    const rules = ruleSets()[0] ?? [];
    for (let round = 0; round < 20; round += 1) {
      const asking = { principal: caller, call: callWith(`{"round":${round}}`), rules };
      const [one, other] = gateways.gates;
      assert.ok(one && other);
      const id = await leaves(one, { ...asking, reference: {} });
      assert.ok(typeof id === 'string');
      await Promise.all(
        approvers
          .slice(0, 2)
          .map((principal) =>
            gateways.catalogue
              .grant({ principal, id, reason: 'x' })
              .catch((error: unknown) => assert.ok(error instanceof GatewayError)),
          ),
      );
      const results = await Promise.all([one, other, one, other].map((at) => leaves(at, { ...asking, reference: { id } })));
      assert.equal(results.filter((result) => result === true).length, 1);
    }
  });

  test('an approval whose time is over makes room for a new one, and the store tells that it has expired', async (t) => {
    const { gates, expired, clock } = await openGateways(t, store);
    const [gateway] = gates;
    assert.ok(gateway);
    const asking = { principal: caller, call: callWith('{}'), rules: ruleSets()[0] ?? [], reference: {} };
    const first = await leaves(gateway, asking);
    clock.advance(hour);
    const second = await leaves(gateway, asking);
    assert.ok(typeof first === 'string' && typeof second === 'string' && first !== second);
    assert.deepEqual(expired, [first]);
  });

  test('bodies of open approvals have a limit together, and what is asked for already keeps its approval', async (t) => {
    const { gates } = await openGateways(t, store);
    const [gateway] = gates;
    assert.ok(gateway);
    const long = (digit: string) => callWith(digit.repeat(60_000));
    const asking = { principal: caller, rules: ruleSets()[0] ?? [], reference: {} };
    const first = await leaves(gateway, { ...asking, call: long('1') });
    assert.ok(typeof first === 'string');
    await assert.rejects(gateway.gate.admit({ ...asking, call: long('2') }), { code: 'too-many-requests' });
    const another = (id: string) => ({ ...asking, principal: { ...caller, id, username: id }, call: long('3') });
    await assert.rejects(
      gateway.gate.admit(another('ann-cli')),
      { code: 'too-many-requests' },
      'another principal of the person',
    );
    assert.ok(
      typeof (await leaves(gateway, another('oidc:["https://idp","ann"]'))) === 'string',
      'a name makes no one person of two',
    );
    assert.equal(await leaves(gateway, { ...asking, call: long('1') }), first);
  });

  test('questions of tasks count among the open approvals of a principal, and have the same limit', async (t) => {
    const { gates } = await openGateways(t, store);
    const [gateway] = gates;
    assert.ok(gateway);
    const terms = { approvers: { roles: [], groups: ['noc'] }, count: 1, selfApproval: false };
    const question = (activity: number) => ({
      task: { run: 'r', activity, attempt: 1, reference: '/do/0/ask' },
      message: 'x'.repeat(60_000),
      terms,
      expires: hour,
      principal: caller,
    });
    assert.deepEqual(await gateway.tasks.ask(question(1)), { kind: 'waiting' });
    await assert.rejects(gateway.tasks.ask(question(2)), { code: 'too-many-requests', headers: { 'Retry-After': '60' } });
    assert.deepEqual(await gateway.tasks.ask(question(1)), { kind: 'waiting' }, 'what is asked for already stays');
    const asking = { principal: caller, rules: ruleSets()[0] ?? [], reference: {} };
    const long = callWith('1'.repeat(60_000));
    await assert.rejects(gateway.gate.admit({ ...asking, call: long }), { code: 'too-many-requests' });
    await gateway.tasks.withdraw(question(1).task);
    assert.deepEqual(await gateway.tasks.ask(question(2)), { kind: 'waiting' });
  });
}

eachStore(suiteOf);
