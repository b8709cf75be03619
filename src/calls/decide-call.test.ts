import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { roles as builtInRoles, customRole, type Principal, type RoleName } from '#access/principal.ts';
import type { CustomRoleOptions, RightOptions } from '#access/rights/access-options.ts';
import { rightMethods } from '#access/rights/access-options.ts';
import { relayOperations } from '#access/rights/operations.ts';
import type { CallTraits } from './custom-rights.ts';
import { type AskedCall, callRoles, decideCall, decidePermission } from './decide-call.ts';

const any: RightOptions = { routes: [], adapters: [], paths: [], methods: [], destinations: [], workflows: [], via: [] };
const devices: RightOptions = {
  ...any,
  routes: ['restQuery'],
  adapters: ['Local NSO'],
  paths: ['restconf/data/tailf-ncs:devices/**'],
  methods: [],
};
const noc = roleOf('noc', devices);

function roleOf(name: string, ...allows: readonly RightOptions[]): CustomRoleOptions {
  return { name: customRole(name), allows };
}

function holding(...roles: readonly RoleName[]): Principal {
  return { id: 'ann', username: 'ann', roles, groups: [] };
}

const query: CallTraits = {
  operation: 'restQuery',
  adapter: 'Local NSO',
  method: 'GET',
  path: 'restconf/data/tailf-ncs:devices/device=a',
};

function askedOf(call: Partial<CallTraits>, more: Partial<AskedCall> = {}): AskedCall {
  return {
    principal: holding(customRole('noc')),
    customRoles: [noc],
    approvalRules: [],
    at: 0,
    call: { ...query, ...call },
    ...more,
  };
}

test('a right allows exactly the calls that match all of its lists', () => {
  const paths = [query.path, 'restconf/data/other', undefined];
  for (const operation of relayOperations) {
    for (const adapter of ['Local NSO', 'Other']) {
      for (const method of rightMethods) {
        for (const path of paths) {
          const expected = operation === 'restQuery' && adapter === 'Local NSO' && (path === undefined || path === query.path);
          const traits = { operation, adapter: operation === 'restCall' ? undefined : adapter, method, path };
          assert.equal(decidePermission(askedOf(traits)).allowed, expected, JSON.stringify(traits));
          // The roles of the specification decide as if there were no other roles.
          for (const role of builtInRoles)
            assert.equal(
              decidePermission(askedOf(traits, { principal: holding(role) })).allowed,
              callRoles[operation].includes(role),
              `${role} ${operation}`,
            );
        }
      }
    }
  }
});

test('an encoded path is allowed only where each reading of it matches', () => {
  const allowed = (path: string) => decidePermission(askedOf({ path })).allowed;
  assert.equal(allowed('/restconf/data/tailf-ncs:devices/device=a%2Fb?depth=1'), true);
  for (const path of [
    'restconf/data/tailf-ncs:devices%2F..%2F..%2Foperations/x',
    'restconf/data;a=%2Ftailf-ncs:devices/x',
    'restconf/operations?/restconf/data/tailf-ncs:devices/x',
    'restconf/operations/tailf-ncs:devices/%3f/restconf/data/tailf-ncs:devices/x',
    'RESTCONF/data/tailf-ncs:devices/x',
  ])
    assert.equal(allowed(path), false, path);
});

test('a right with adapter instances never allows a restCall, and one without them does by the path of its URI', () => {
  let call: CallTraits = { operation: 'restCall', adapter: undefined, method: 'GET', path: '/status/a' };
  const decided = (right: Partial<RightOptions>) =>
    decidePermission(askedOf(call, { customRoles: [roleOf('noc', { ...any, ...right })] })).allowed;
  assert.equal(decided({ adapters: ['Local NSO'] }), false);
  assert.equal(decided({ paths: ['status/*'], methods: ['GET'] }), true);
  assert.equal(decided({ paths: ['status'] }), false);
  assert.equal(decided({ methods: ['POST'] }), false);
  // A server that decodes before it resolves dots would go to /admin.
  call = { ...call, path: '/status/a%2F..%2F..%2Fadmin' };
  assert.equal(decided({ paths: ['status/**'] }), false);
  call = { ...call, path: '/status/a%2F..;b%2F..%2Fadmin' };
  assert.equal(decided({ paths: ['status/**'] }), false);
});

test('a refusal names the needed roles and the right that comes closest', () => {
  const decision = decidePermission(askedOf({ path: 'restconf/data/x' }));
  assert.ok(!decision.allowed);
  assert.equal(
    decision.reason,
    'This needs the role admin; you have noc. An operator can add admin to your roles. ' +
      'No right of your own roles allows it: role noc, allows[0] has another path.',
  );
});

test('a role that the configuration no longer defines allows nothing', () => {
  assert.equal(decidePermission(askedOf({}, { customRoles: [] })).allowed, false);
});

test('a call of a run is decided by everybody who answers for it, by role or right, and not by who started it', () => {
  const admin: Principal = { id: 'ann', username: 'ann', roles: ['admin'], groups: [] };
  const engineer: Principal = { ...admin, id: 'eve', username: 'eve', roles: ['engineering'] };
  const allowed = (...answerable: readonly Principal[]) => decidePermission(askedOf({}, { answerable, principal: admin }));
  assert.equal(allowed(admin).allowed, true);
  const refused = allowed(admin, engineer);
  assert.ok(!refused.allowed);
  assert.equal(refused.code, 'delegation-lost');
  assert.match(refused.reason, /^eve answers for this call of a run, and may not make it\. This needs the role admin/u);
  const byRight = allowed(admin, holding(customRole('noc')));
  assert.deepEqual(byRight.allowed && byRight.permission, { kind: 'right', role: 'noc', right: 0 });
  assert.equal(allowed().allowed, false, 'no principal answers');
});

test('the rules of the destination are asked after a right, and both are on record', () => {
  const allowed = decideCall(askedOf({}), () => ({ decide: () => ({ allowed: true, rule: 'allowPaths.queries' }) }));
  assert.equal(allowed.rule, 'role noc, allows[0]; allowPaths.queries');
  let prepared = 0;
  const refused = decideCall(askedOf({ path: 'x' }), () => {
    prepared += 1;
    return { decide: () => ({ allowed: true, rule: undefined }) };
  });
  assert.equal(refused.allowed, false);
  assert.equal(prepared, 0);
});

const somePath = fc.constantFrom('a', 'a/b', 'a/b/c', 'a/%62', 'x', '');
const someRight: fc.Arbitrary<RightOptions> = fc.record({
  routes: fc.subarray([...relayOperations]),
  adapters: fc.subarray(['one', 'two']),
  paths: fc.subarray(['a/*', '**/c', 'x', '**']),
  methods: fc.subarray([...rightMethods]),
  destinations: fc.constant([]),
  workflows: fc.constant([]),
  via: fc.constant([]),
});
const someRoles = fc
  .array(fc.array(someRight, { maxLength: 3 }), { minLength: 1, maxLength: 4 })
  .map((allows) => allows.map((rights, index) => roleOf(`role-${index}`, ...rights)));
const someCall: fc.Arbitrary<CallTraits> = fc
  .record({
    operation: fc.constantFrom(...relayOperations),
    adapter: fc.constantFrom('one', 'two', 'three'),
    method: fc.constantFrom(...rightMethods),
    path: somePath,
  })
  .map((call) => (call.operation === 'restCall' ? { ...call, adapter: undefined } : call));

test('a further role never takes anything from a principal (property)', () => {
  fc.assert(
    fc.property(someRoles, someCall, fc.subarray([...builtInRoles]), fc.nat(), (customRoles, call, held, pick) => {
      const names = [...builtInRoles, ...customRoles.map(({ name }) => name)];
      const further = names[pick % names.length] ?? 'other';
      const before = decidePermission({ principal: holding(...held), customRoles, call }).allowed;
      const after = decidePermission({ principal: holding(...held, further), customRoles, call }).allowed;
      assert.ok(after || !before);
    }),
  );
});

test('a call is allowed only if the table or a right names it, and then it is (property)', () => {
  fc.assert(
    fc.property(someRoles, someCall, fc.subarray([...builtInRoles]), fc.nat(), (customRoles, call, held, pick) => {
      const own = customRoles[pick % customRoles.length] ?? noc;
      const allowed = decidePermission({ principal: holding(...held, own.name), customRoles, call }).allowed;
      const byTable = held.some((role) => callRoles[call.operation].includes(role));
      assert.equal(allowed, byTable || own.allows.some((right) => isNamed(right, call)));
    }),
  );
});

/** Written a second time, for the few paths and globs above. */
function isNamed(
  { routes, adapters, paths, methods }: RightOptions,
  { operation, adapter, method, path = '' }: CallTraits,
): boolean {
  const segments = path.split('/').filter((part) => part !== '');
  const isMatched = (glob: string) =>
    ({
      'a/*': segments.length === 2 && segments[0] === 'a',
      '**/c': segments.at(-1) === 'c',
      x: path === 'x',
      '**': true,
    })[glob] === true;
  return (
    (routes.length === 0 || routes.includes(operation)) &&
    (adapters.length === 0 || (adapter !== undefined && adapters.includes(adapter))) &&
    (methods.length === 0 || (method !== undefined && methods.includes(method))) &&
    (paths.length === 0 || paths.some(isMatched))
  );
}

test('an early question refuses only what no method and no path could make allowed (property)', () => {
  fc.assert(
    fc.property(someRoles, someCall, fc.nat(), (customRoles, call, pick) => {
      const principal = holding(customRoles[pick % customRoles.length]?.name ?? 'other');
      const early = decidePermission({ principal, customRoles, call: { ...call, method: undefined, path: undefined } }).allowed;
      assert.ok(early || !decidePermission({ principal, customRoles, call }).allowed);
    }),
  );
});

test('a right with destinations allows a restCall to these hosts and origins, and no call to an adapter instance', () => {
  const right = { destinations: ['tickets.example.net', 'https://a.example:8443'] };
  const allowed = (call: Partial<CallTraits>): boolean =>
    decidePermission(askedOf(call, { customRoles: [roleOf('noc', { ...any, ...right })] })).allowed;
  const to = (destination: string | undefined): boolean => allowed({ operation: 'restCall', adapter: undefined, destination });
  for (const origin of ['https://tickets.example.net', 'http://tickets.example.net:8080', 'https://a.example:8443', undefined])
    assert.equal(to(origin), true, `${origin}`);
  for (const origin of [
    'https://a.example',
    'http://a.example:8443',
    'https://x.tickets.example.net',
    'https://tickets.example.net.evil.example',
  ])
    assert.equal(to(origin), false, origin);
  assert.equal(allowed({}), false);
});

test('a right that counts in runs alone allows no call by hand', () => {
  const customRoles = [roleOf('noc', { ...any, via: ['run'] })];
  assert.equal(decidePermission(askedOf({ entrance: 'run' }, { customRoles })).allowed, true);
  assert.equal(decidePermission(askedOf({ entrance: 'http' }, { customRoles })).allowed, false);
  assert.equal(decidePermission(askedOf({ entrance: 'mcp' }, { customRoles })).allowed, false);
});
