import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import type { AuditLog } from '../src/audit/audit-log.ts';
import { SqliteConnection } from '../src/database/sqlite/sqlite-connection.ts';
import { runWorld } from '../src/runs/engine/run-engine.test-support.ts';
import { taskGateway } from './support/runs/call-tasks.ts';
import { eachStore } from './support/stores/stores.ts';
import { jsonReply } from './support/upstreams/upstream.ts';

/** A statement that writes runs or records, but for what a gateway does every few seconds. */
const written =
  /^\s*(?:with due |insert|update (?!"audit_chain")|delete).*\b(?:run|run_\w+|event_log|audit_entry|idempotency_key)\b/isu;

/** Counts transactions that write runs or records, on all connections of this process. */
function countTransactions(t: TestContext): () => number {
  let count = 0;
  const open = new Map<unknown, boolean>();
  const see = (connection: unknown, text: unknown): void => {
    if (typeof text !== 'string') return;
    if (text.startsWith('begin')) open.set(connection, false);
    else if (text === 'commit' || text === 'rollback') {
      if (open.get(connection) === true && text === 'commit') count += 1;
      open.delete(connection);
    } else if (written.test(text)) {
      if (open.has(connection)) open.set(connection, true);
      else count += 1;
    }
  };
  for (const [prototype, name] of [
    [SqliteConnection.prototype, 'run'],
    [Client.prototype, 'query'],
  ] as const) {
    const original = Reflect.get(prototype, name) as (...given: unknown[]) => unknown;
    t.mock.method(prototype as unknown as Record<string, typeof original>, name, function (this: unknown, ...given: unknown[]) {
      see(this, given[0]);
      return original.apply(this, given);
    });
  }
  return () => count;
}

eachStore((store) => {
  for (const changes of [1, 3, 8])
    test(`a run of ${changes} changes in sequence takes ${changes + 3} transactions`, async (t) => {
      const options = await store.empty(t);
      const database = await store.open(t, options);
      const logs: AuditLog[] = [];
      const gateway = await taskGateway(t, {
        database,
        audit(log) {
          logs.push(log);
          return log;
        },
      });
      const { far } = gateway;
      far.answer(() => jsonReply('{"done":true}'));
      const [log] = logs;
      assert.ok(log !== undefined);
      const world = await runWorld(t, store, { options, calls: gateway.tasks, join: log.join });
      const step = (index: number): string =>
        `  - { step${index}: { call: http, with: { method: post, endpoint: "${far.url}/${index}", body: { n: "\${ ${index} }" } }, output: { as: "\${ { n: ${index} } }" } } }\n`;
      await world.workflow('changes', `do:\n${Array.from({ length: changes }, (_, index) => step(index)).join('')}`);
      await world.gateway();
      // The first run loads what each later one has.
      await world.reaches(await world.begin('changes', { authors: answering }), 'completed');
      const taken = countTransactions(t);
      const counted = async (): Promise<readonly [transactions: number, id: string]> => {
        const [before, id] = [taken(), await world.begin('changes', { authors: answering })];
        assert.equal((await world.reaches(id, 'completed', 'faulted', 'suspended')).status, 'completed');
        return [taken() - before, id];
      };
      const runs = [await counted()];
      // A run that takes long on a busy machine meets work that the gateway does every few seconds: the least of several runs counts.
      while (runs.length < 5 && runs.every(([transactions]) => transactions !== changes + 3)) runs.push(await counted());
      assert.equal(Math.min(...runs.map(([transactions]) => transactions)), changes + 3);
      assert.equal(far.requests.length, (1 + runs.length) * changes);
      const [[, id]] = runs as [(typeof runs)[number]];
      const records = (await gateway.records()).filter(({ via }) => via?.run === id);
      assert.deepEqual(
        records.map(({ outcome }) => outcome),
        Array.from({ length: changes }, () => 'ok'),
      );
    });
});

/** The harness of calls gives them the roles that their names say. */
const answering = [{ id: 'author', username: 'admin' }];
