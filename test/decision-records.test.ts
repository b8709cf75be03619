// suite: waiting

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import { Client } from 'pg';
import type { StoreOptions } from '../src/database/database.ts';
import { assertProblem } from './support/callers/calls.ts';
import { basic, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemStage, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// A decision of people about a call whose outcome is unknown is on disk before it counts.

interface Refusal {
  /** SQL: which entries of the audit log the store refuses from now on. */
  refuse(condition: string): Promise<void>;
  accept(): Promise<void>;
}

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  let audit: Refusal;
  before(async () => {
    const options = await store.empty(owner);
    stage = await itemStage(owner, { ...store, empty: async () => options });
    audit = refusalsOf(options);
  });
  const records = async (query: string): Promise<readonly AuditedRecord[]> =>
    (await stage.asked<{ readonly list: readonly AuditedRecord[] }>(stage.send('ann', 'GET', `/audit?limit=200&${query}`))).list;
  const undecidedRun = async (action: string): Promise<string> => {
    stage.far.dropping.add(action);
    const { id } = await stage.start([namedAction('act', `"${action}"`)], {});
    await stage.reaches(id, 'suspended');
    return id;
  };

  test('a decision about a call does not count where its intent cannot be written', async () => {
    const id = await undecidedRun('one');
    const decide = (command: 'decide' | 'resume') =>
      stage.send('ann', 'POST', `/runs/${id}/${command}`, { task: '1', as: 'done', reason: 'It is there.' });
    await audit.refuse("new.kind = 'intent'");
    for (const command of ['decide', 'resume'] as const) assertProblem(await decide(command), 503, 'audit-unavailable');
    await audit.accept();
    assert.equal((await stage.read(id)).status, 'suspended');
    const decided = await decide('decide');
    assert.equal(decided.status, 200, decided.text);
    await stage.reaches(id, 'completed');
    const [record] = (await records(`object=${id}`)).filter(({ route }) => route === 'POST /runs/:id/decide');
    assert.deepEqual([record?.outcome, record?.status, record?.reason], ['ok', 200, 'It is there.']);
    assertProblem(await decide('decide'), 409, 'run-conflict');
  });

  test('a decision about items of a batch counts for none where the intent for one cannot be written', async () => {
    for (const action of ['b-0', 'b-1', 'b-2']) stage.far.dropping.add(action);
    const { id } = await stage.start([batchTask('all')], { items: ['b-0', 'b-1', 'b-2'] });
    await stage.counts(id, 'unknown', 3);
    const decide = () =>
      stage.send('ann', 'POST', `/runs/${id}/decide`, { items: 'unknown', expected: 3, as: 'done', reason: 'All are there.' });
    await audit.refuse("new.kind = 'intent' and new.facts like '%The item 1 of%'");
    assertProblem(await decide(), 503, 'audit-unavailable');
    await audit.accept();
    assert.equal((await stage.read(id)).items?.unknown, 3);
    const decided = await decide();
    assert.equal(decided.status, 200, decided.text);
    await stage.reaches(id, 'completed');
    const made = (await records('principal=ann')).filter(
      ({ event, reason }) => event === 'decided' && reason === 'All are there.',
    );
    assert.equal(made.filter(({ outcome }) => outcome === 'ok').length, 3, JSON.stringify(made));
    assert.ok(!made.some(({ outcome }) => outcome === undefined || outcome === 'unknown'), JSON.stringify(made));
  });

  test('a request whose caller leaves has one record, whether it is decided by then or not', async () => {
    const runs: string[] = [];
    for (const action of ['l-0', 'l-1', 'l-2', 'l-3', 'l-4', 'l-5']) runs.push(await undecidedRun(action));
    const decision = JSON.stringify({ task: '1', as: 'done', reason: 'It is there.' });
    const action = JSON.stringify({ params: { path: 'act', accept: 'application/json' }, body: { action: 'left' } });
    const left = await Promise.all(
      runs.flatMap((id, place) => [
        leave(`/runs/${id}/decide`, decision, `decides-${place}`, 1 + place * 9),
        leave('/orchestrator_manager/restAction/Far', action, `acts-${place}`, 1 + place * 9),
      ]),
    );
    await lapse(2_000, 'a second record would be written');
    const list = await records('');
    const all = left.map((requestId) => list.filter((record) => record.requestId === requestId));
    // Refusals before their caller is known are counted in one record.
    assert.ok(all.every(({ length }) => length <= 1) && all.some(({ length }) => length === 1), JSON.stringify(all));
    for (const [place, id] of runs.entries()) {
      const [record] = all[2 * place] ?? [];
      const isDecided = (await stage.read(id)).status === 'completed';
      assert.equal(record?.outcome === 'ok', isDecided, JSON.stringify(record));
    }
  });

  /** Sends the request, and closes its connection so many milliseconds later. */
  async function leave(target: string, body: string, requestId: string, after: number): Promise<string> {
    const socket = connect(stage.gateway().port, '127.0.0.1');
    socket.on('error', () => undefined);
    const head = [
      `POST ${target} HTTP/1.1`,
      'Host: a',
      `Authorization: ${basic('ann', testPassword)}`,
      `X-Request-Id: ${requestId}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    await once(socket, 'connect');
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    await lapse(after, 'the caller leaves at another moment each time');
    socket.destroy();
    await once(socket, 'close');
    return requestId;
  }
});

interface AuditedRecord {
  readonly event: string;
  readonly route?: string;
  readonly requestId?: string;
  readonly outcome?: string;
  readonly status?: number;
  readonly reason?: string;
}

function refusalsOf(options: StoreOptions): Refusal {
  const run = options.kind === 'sqlite' ? onSqlite(options.file) : onPostgres(options.url.reveal());
  if (options.kind === 'sqlite')
    return {
      refuse: (condition) =>
        run(`create trigger refused before insert on audit_entry when ${condition} begin select raise(abort, 'refused'); end`),
      accept: () => run('drop trigger refused'),
    };
  return {
    async refuse(condition) {
      await run("create function refused() returns trigger language plpgsql as $$ begin raise 'refused'; end $$");
      await run(
        `create trigger refused before insert on audit_entry for each row when (${condition}) execute function refused()`,
      );
    },
    accept: () => run('drop function refused() cascade'),
  };
}

/** A wait in the statement would hold up the gateway, which is in this process. */
function onSqlite(file: string): (statement: string) => Promise<void> {
  return async (statement) => {
    const database = new DatabaseSync(file.replace(/\.db$/u, '.audit.db'), { timeout: 0 });
    try {
      await until('the store is free', () => {
        try {
          database.exec(statement);
          return true;
        } catch (error) {
          if (error instanceof Error && error.message.includes('locked')) return false;
          throw error;
        }
      });
    } finally {
      database.close();
    }
  };
}

function onPostgres(url: string): (statement: string) => Promise<void> {
  return async (statement) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
}
