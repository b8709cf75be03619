import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallFacts } from './call-outcome.ts';
import { stampComment } from './record-facts.ts';

const run = '01a21a4d-e2ac-7ee3-a6f3-44ab7e4b36fa';

function commentOf(username: string, facts: Pick<CallFacts, 'approval' | 'via'> = {}, id = username): string {
  return stampComment({ principal: { id, username, roles: [], groups: [] }, facts });
}

test('the comment of a stamp names person and entrance, a run before the approval of its call', () => {
  assert.equal(commentOf('ann'), 'ann (ann) via http');
  assert.equal(commentOf('ann', { approval: 'a1' }), 'ann (ann) via approval a1');
  assert.equal(commentOf('ann', { approval: 'a1', via: { run, task: '/do/0/x' } }), `ann (ann) via run ${run}`);
});

test('a long name is cut so that the comment has 200 characters, and the id and the run stay whole', () => {
  const id = `oidc:${JSON.stringify(['https://login.example.net/tenant', '4711'])}`;
  const comment = commentOf(`A${'n'.repeat(300)}`, { via: { run } }, id);
  assert.equal(comment.length, 200);
  assert.ok(comment.startsWith('Annn') && comment.endsWith(` (${id}) via run ${run}`), comment);
  assert.ok(commentOf('n'.repeat(500), { via: { run } }, 'i'.repeat(500)).length <= 200);
  const halved = commentOf('😀'.repeat(200), {}, 'a');
  assert.ok(halved.isWellFormed() && halved.length <= 200, 'no character is halved');
});

test('a name cannot forge another line', () => {
  assert.equal(commentOf('ann\nroot\u2028x\u202ey', {}, 'ann'), 'ann root x y (ann) via http');
});
