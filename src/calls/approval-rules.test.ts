import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalCondition } from '#access/rights/approval-options.ts';
import { neededApprovals } from './approval-rules.ts';

const any: ApprovalCondition = { routes: [], adapters: [], methods: [], paths: [], roles: [], via: [] };
const call = { operation: 'restAction', adapter: 'NSO', method: 'POST', path: 'act' } as const;
const principal = { id: 'ann', username: 'ann', roles: ['admin' as const], groups: [] };

function matches(
  when: Partial<ApprovalCondition>,
  circumstances: { readonly via?: readonly ('http' | 'run' | 'mcp')[]; readonly at?: number },
) {
  const rule = {
    name: 'x',
    when: { ...any, ...when },
    approvers: { roles: [], groups: ['x'] },
    count: 1,
    selfApproval: false,
    expires: 1,
  };
  return neededApprovals([rule], { principal, call, at: 0, ...circumstances }).length === 1;
}

test('a rule with entrances matches calls that come by one of them, and those of which that is not known', () => {
  for (const [via, came, expected] of [
    [[], ['http'], true],
    [['http'], ['http'], true],
    [['http'], ['run'], false],
    [['mcp'], ['mcp', 'run'], true],
    [['run'], ['mcp', 'run'], true],
    [['http', 'mcp'], ['run'], false],
  ] as const)
    assert.equal(matches({ via }, { via: came }), expected, `${via.join()} ${came.join()}`);
  assert.equal(matches({ via: ['mcp'] }, {}), true);
});

test('a rule with times matches from the first one on, and before the second', () => {
  const times = { from: 10, until: 20 };
  assert.deepEqual(
    [9, 10, 19, 20].map((at) => matches(times, { at })),
    [false, true, true, false],
  );
  assert.deepEqual([matches({ from: 10 }, { at: 99 }), matches({ until: 20 }, { at: -9 })], [true, true]);
});
