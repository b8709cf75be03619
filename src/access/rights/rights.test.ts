import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { roles as builtInRoles, customRole, type Principal, type RoleName } from '../principal.ts';
import { type CustomRoleOptions, entrances, type RightOptions } from './access-options.ts';
import { isRelayOperation, isWorkflowOperation, type Operation, operationNames, operations } from './operations.ts';
import { createRights, decideOperation, matchesWorkflow } from './rights.ts';

const any: RightOptions = { routes: [], adapters: [], paths: [], methods: [], destinations: [], workflows: [], via: [] };

function roleOf(name: string, ...allows: readonly Partial<RightOptions>[]): CustomRoleOptions {
  return { name: customRole(name), allows: allows.map((right) => ({ ...any, ...right })) };
}

function holding(...roles: readonly RoleName[]): Principal {
  return { id: 'ann', username: 'ann', roles, groups: [] };
}

const noc = customRole('noc');

test('a right without routes is about the operations that relay a call, and every other one has to be named', () => {
  const rights = createRights(() => [roleOf('noc', {})]);
  for (const operation of operationNames) {
    const { allowed } = decideOperation({
      principal: holding(noc),
      operation,
      customRoles: [roleOf('noc', {})],
      entrance: 'http',
    });
    assert.equal(allowed, typeof operations[operation] === 'string' || isRelayOperation(operation), operation);
    assert.equal(rights.covers(holding(noc), operation, 'noc.a'), isRelayOperation(operation), operation);
  }
});

test('a right counts at its entrances alone', () => {
  const customRoles = [roleOf('noc', { routes: ['listAudit'], via: ['mcp'] })];
  for (const entrance of entrances)
    assert.equal(
      decideOperation({ principal: holding(noc), operation: 'listAudit', customRoles, entrance }).allowed,
      entrance === 'mcp',
    );
});

test('a right that is limited to workflows covers these, and nothing without a workflow', () => {
  const rights = createRights(() => [
    roleOf('noc', { routes: ['readWorkflow', 'readAutomation'], workflows: ['noc.*', '*.check'] }),
  ]);
  const covered = (id: string | undefined): boolean => rights.covers(holding(noc), 'readAutomation', id);
  assert.deepEqual(['noc.a', 'sec.check', 'sec.a', 'Noc.a', 'xnoc.a', undefined].map(covered), [
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  assert.equal(rights.isLimited(holding(noc), 'readAutomation'), true);
  assert.equal(rights.isLimited(holding(noc, 'readonly'), 'readAutomation'), false);
});

test('a glob of workflows has no sign but the star', () => {
  for (const glob of ['noc.a', 'n*c.a', '*', 'noc.*', '*a']) assert.equal(matchesWorkflow([glob], 'noc.a'), true, glob);
  for (const glob of ['nocxa', 'noc', 'noc.', 'oc.a', 'noc.a*b', '']) assert.equal(matchesWorkflow([glob], 'noc.a'), false, glob);
  assert.equal(matchesWorkflow(['*'], 'a\nb'), true);
});

const someOperation = fc.constantFrom(...operationNames);
const someId = fc.constantFrom('noc.a', 'noc.b', 'sec.a', undefined);
const someRight = fc.record({
  routes: fc.array(someOperation, { maxLength: 4 }),
  workflows: fc.subarray(['noc.*', 'sec.a', '*']),
  via: fc.subarray([...entrances]),
});
const someRoles = fc
  .array(fc.array(someRight, { maxLength: 3 }), { minLength: 1, maxLength: 3 })
  .map((all) => all.map((rights, index) => roleOf(`role-${index}`, ...rights)));

test('a further role never takes anything from a principal (property)', () => {
  fc.assert(
    fc.property(
      someRoles,
      someOperation,
      someId,
      fc.subarray([...builtInRoles]),
      fc.nat(),
      (customRoles, operation, id, held, pick) => {
        const rights = createRights(() => customRoles);
        const further = [...builtInRoles, ...customRoles.map(({ name }) => name)][
          pick % (builtInRoles.length + customRoles.length)
        ];
        const before = rights.permits(holding(...held), operation, id);
        assert.ok(!before || rights.permits(holding(...held, further ?? 'other'), operation, id));
      },
    ),
  );
});

test('an operation is permitted exactly if its table names a role, or a right of the principal its operation, entrance and workflow (property)', () => {
  fc.assert(
    fc.property(someRoles, someOperation, someId, fc.subarray([...builtInRoles]), (customRoles, operation, id, held) => {
      const principal = holding(...held, ...customRoles.slice(0, 1).map(({ name }) => name));
      const rights = createRights(() => customRoles);
      const access: 'everyone' | 'callers' | readonly string[] = operations[operation];
      const byRole = typeof access !== 'string' && held.some((role) => access.includes(role));
      const byRight = customRoles[0]?.allows.some((right) => isNamed(right, operation, id)) === true;
      assert.equal(rights.permits(principal, operation, id), byRole || byRight);
      // The question before the object is known refuses only what no object could make allowed.
      if (byRole || byRight) assert.ok(rights.allows(principal, operation));
    }),
  );
});

/** Written a second time, for the few globs above. */
function isNamed({ routes, workflows, via }: RightOptions, operation: Operation, id: string | undefined): boolean {
  const isRouted = routes.length === 0 ? isRelayOperation(operation) : routes.includes(operation);
  const isHere = via.length === 0 || via.includes('http');
  const covers = (glob: string): boolean =>
    id !== undefined && (glob === '*' || id === glob || (glob === 'noc.*' && id.startsWith('noc.')));
  return isRouted && isHere && (workflows.length === 0 || !isWorkflowOperation(operation) || workflows.some(covers));
}
