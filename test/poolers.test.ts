// suite: long
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { noLog } from '../src/base/log.ts';
import { Secret } from '../src/base/secret.ts';
import { openDatabase } from '../src/database/database.ts';
import { post } from './support/callers/calls.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { noPgbouncer, ownPgbouncer } from './support/stores/own-pgbouncer.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';

// PgBouncer with its default configuration, in both pool modes, between two gateways and one PostgreSQL.

const skip = noOwnPostgres === false ? noPgbouncer : noOwnPostgres;
const noNotifications = 'PostgreSQL delivers no notifications';

/** A workflow that waits for an hour, and its automation. Answers the path that starts a run. */
async function waitingAutomation(gateway: Gateway): Promise<string> {
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'waiting', version: '1.0.0' };
  const made = await post(gateway, '/automation_catalog/workflows', { document, do: [{ rest: { wait: { hours: 1 } } }] });
  assert.equal(made.status, 201, made.text);
  const automation = await post(gateway, '/automation_catalog/automations', {
    name: 'waiting',
    data: { workflowId: 'lab.waiting' },
  });
  assert.equal(automation.status, 201, automation.text);
  return `/automation_catalog/automations/${(automation.json() as { readonly _id: string })._id}/run`;
}

/** Each of many transactions has the limits of the gateway, whichever session the pooler gives it. */
async function haveLimits(t: TestContext, url: string): Promise<void> {
  const database = await openDatabase({ store: { kind: 'postgres', url: new Secret(url) }, log: noLog });
  t.after(() => database.close());
  const asked = Array.from({ length: 30 }, (_, number) =>
    (number % 2 === 0 ? database.query : database.read).transaction().execute(async (transaction) => {
      const { rows } = await sql<{ readonly limits: string }>`select current_setting('statement_timeout') || ' '
        || current_setting('idle_in_transaction_session_timeout') as limits`.execute(transaction);
      return rows[0]?.limits;
    }),
  );
  assert.deepEqual(new Set(await Promise.all(asked)), new Set(['10s 5s']));
}

for (const mode of ['session', 'transaction'] as const) {
  test(`two gateways behind a PgBouncer with ${mode} pooling work on each other's runs, and have their limits`, {
    skip,
  }, async (t) => {
    const postgres = await ownPostgres(t);
    const url = await ownPgbouncer(t, postgres, mode);
    const [one, two] = await Promise.all([1, 2].map(() => startGateway(t, { config: { store: { url } } })));
    assert.ok(one !== undefined && two !== undefined);
    const start = await waitingAutomation(one);
    const begun = await Promise.all(Array.from({ length: 20 }, () => post(one, start, {})));
    for (const reply of begun) assert.equal(reply.status, 201, reply.text);
    const ids = begun.map((reply) => (reply.json() as { readonly id: string }).id);
    const cancelledAt = performance.now();
    for (const id of ids) assert.equal((await post(two, `/runs/${id}/cancel`, {})).status, 200);
    const statusOf = async (id: string): Promise<string> =>
      ((await one.send({ target: `/runs/${id}`, role: 'admin' })).json() as { readonly status: string }).status;
    for (const id of ids) await until('the run is cancelled', async () => (await statusOf(id)) === 'cancelled');
    t.diagnostic(`20 runs cancelled by the other gateway in ${Math.round(performance.now() - cancelledAt)} ms`);
    const warned = (gateway: Gateway): number => gateway.stderr.filter((line) => line.includes(noNotifications)).length;
    if (mode === 'transaction') await until('both gateways say so', () => warned(one) === 1 && warned(two) === 1);
    else assert.deepEqual([warned(one), warned(two)], [0, 0]);
    await haveLimits(t, url);
    for (const gateway of [one, two]) {
      const failed = gateway.stderr.filter((line) => /unavailable|"level":"error"/u.test(line));
      assert.deepEqual(failed, []);
    }
  });
}

test('a parameter that PgBouncer refuses is named at the start, with what to do', { skip }, async (t) => {
  const url = await ownPgbouncer(t, await ownPostgres(t), 'session');
  const store = { kind: 'postgres', url: new Secret(`${url}?options=-c%20search_path%3Dother`) } as const;
  await assert.rejects(openDatabase({ store, log: noLog }), /unsupported startup parameter.*take it out of the URL/u);
});
