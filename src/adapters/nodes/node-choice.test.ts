import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeRole } from '../adapter-kind.ts';
import { nodeForQuery, primaryOf } from './node-choice.ts';

interface Known {
  readonly role?: NodeRole;
  readonly offline?: boolean;
  readonly degraded?: boolean;
  /** Milliseconds for which its breaker refuses calls. */
  readonly wait?: number;
}

function node(url: string, { role, offline = false, degraded = false, wait = 0 }: Known = {}) {
  const state = offline ? ('offline' as const) : degraded ? ('degraded' as const) : ('online' as const);
  return {
    url,
    standing: () => ({ state, since: 0, lastError: undefined, role, credentialsRefused: false }),
    breaker: {
      state: wait > 0 ? ('open' as const) : ('closed' as const),
      wait: () => wait,
      refuse: () => {},
      run: () => Promise.reject(new Error('not called')),
      count: () => Promise.reject(new Error('not called')),
    },
  };
}

test('an action goes to the first online primary', () => {
  const nodes = [node('a', { role: 'secondary' }), node('b', { role: 'primary', offline: true }), node('c', { role: 'primary' })];
  assert.equal(primaryOf(nodes)?.url, 'c');
  assert.equal(primaryOf([node('a'), node('b', { role: 'read-only' })]), undefined);
});

test('a primary whose breaker is open comes after other primaries, but is still one', () => {
  const open = node('a', { role: 'primary', wait: 500 });
  assert.equal(primaryOf([open, node('b', { role: 'primary' })])?.url, 'b');
  assert.equal(primaryOf([open, node('b', { role: 'secondary' })])?.url, 'a');
});

test('a degraded node gets calls only where there is no online node for them', () => {
  const [degraded, online] = [node('a', { role: 'primary', degraded: true }), node('b', { role: 'primary' })];
  assert.equal(primaryOf([degraded, online])?.url, 'b');
  assert.equal(primaryOf([degraded, node('b', { role: 'secondary' })])?.url, 'a');
  assert.equal(nodeForQuery([degraded, online], []).url, 'b');
  assert.equal(nodeForQuery([degraded, node('b', { role: 'primary', offline: true })], []).url, 'a');
});

test('a query prefers nodes that admit calls, then online nodes, then the primary', () => {
  const untried: ReturnType<typeof node>[] = [];
  const [secondary, primary] = [node('a', { role: 'secondary' }), node('b', { role: 'primary' })];
  assert.equal(nodeForQuery([secondary, primary], untried).url, 'b');
  assert.equal(nodeForQuery([secondary, node('b', { role: 'primary', offline: true })], untried).url, 'a');
  assert.equal(nodeForQuery([node('a', { offline: true }), node('b', { role: 'primary', wait: 1 })], untried).url, 'a');
  assert.equal(nodeForQuery([secondary, primary], [primary]).url, 'a');
  assert.equal(nodeForQuery([node('a'), node('b')], untried).url, 'a');
});
