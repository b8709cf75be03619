// suite: long

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { StoreOptions } from '../src/database/database.ts';
import { migrationsOf } from '../src/database/migrate.ts';
import { migrations } from '../src/database/migrations.ts';
import { type Reply, send } from './support/callers/http-client.ts';
import { type CatalogueLoad, catalogueLoad, proofCallers, proofUsers } from './support/catalogue/catalogue-load.ts';
import { proveCatalogue } from './support/catalogue/catalogue-proof.ts';
import { readerGroup } from './support/catalogue/catalogue-writer.ts';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { seededRandom } from './support/seeded-random.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';

// Several gateways, each a process, on one PostgreSQL.

const route = '/automation_catalog/automations';

eachStore((store) => {
  // A SQLite file has one gateway: store-lock.test.ts.
  if (store.dialect === 'sqlite') return;
  let options: StoreOptions;
  let gateways: GatewayProcess[];
  const owner = suiteOwner();
  before(async () => {
    options = await store.fresh(owner);
    const config = { store: { url: storeUrl(options) } };
    const started = await Promise.all([1, 2, 3].map(() => startGatewayProcess(owner, { config, users: proofUsers })));
    gateways = started;
  });

  test('gateways that start at the same time on an empty store all run, with one schema and each other’s tokens', async (t) => {
    const tokens = await Promise.all(gateways.map((gateway) => gateway.tokenFor('apiread')));
    for (const gateway of gateways) {
      for (const token of tokens) {
        const reply = await gateway.send({ target: route, headers: { Authorization: `Bearer ${token}` } });
        assert.equal(reply.status, 200, reply.text);
      }
    }
    const { query, records } = await store.open(t, options);
    const parts = { main: query, records };
    for (const part of ['main', 'records'] as const) {
      const applied = await parts[part].selectFrom('schema_migration').select('number').orderBy('number').execute();
      assert.deepEqual(
        applied.map(({ number }) => number),
        migrationsOf({ dialect: store.dialect, migrations, part }).map(({ number }) => number),
      );
    }
  });

  test('a change of groups on one gateway is in force for the next request on the other', async () => {
    const [one, other] = pair(gateways);
    const callers = await proofCallers(one);
    const write = (gateway: GatewayProcess, method: string, target: string, body: object): Promise<Reply> =>
      send(gateway.port, {
        method,
        target,
        headers: {
          Authorization: callers.admin,
          'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        },
        body: JSON.stringify(body),
      });
    const sees = async (gateway: GatewayProcess, target: string): Promise<readonly [number, number]> => {
      const headers = { Authorization: callers.reader };
      const single = await send(gateway.port, { target, headers });
      const page = await send(gateway.port, { target: `${route}?limit=0`, headers });
      return [single.status, (page.json() as { readonly total: number }).total];
    };
    const made = await write(one, 'POST', route, { name: 'Rotate keys', data: { gbac: { write: [], read: ['others'] } } });
    assert.equal(made.status, 201, made.text);
    const target = `${route}/${made.header('location')?.split('/').at(-1)}`;
    for (const [index, writer] of [one, other, one, other, one, other].entries()) {
      const reader = writer === one ? other : one;
      const read = index % 2 === 0 ? [readerGroup] : ['others'];
      const changed = await write(writer, 'PATCH', target, { data: { gbac: { read } } });
      assert.equal(changed.status, 200, changed.text);
      assert.deepEqual(await sees(reader, target), index % 2 === 0 ? [200, 1] : [404, 0]);
    }
    const removed = await send(other.port, { method: 'DELETE', target, headers: { Authorization: callers.admin } });
    assert.equal(removed.status, 204, removed.text);
  });

  test('a gateway answers on while another one is killed under load, and no acknowledged write is lost', async (t) => {
    const seed = crashSeed();
    t.diagnostic(`to play it again: CRASH_SEED=${seed}`);
    const random = seededRandom(seed);
    const [staying, first] = pair(gateways);
    const callers = await proofCallers(staying);
    const load = catalogueLoad({ seed, lanes: 4, authorization: callers.admin });
    let victim = first;
    for (let round = 0; round < 2; round += 1) {
      await killUnderLoad({ load, staying, victim, after: random.whole(5, 40) });
      await proveCatalogue(staying, load.ledger, callers);
      victim = await victim.restart();
      await proveCatalogue(victim, load.ledger, callers);
    }
    t.diagnostic(`${load.ledger.acknowledged} writes acknowledged, ${load.ledger.unanswered} cut off`);
  });
});

function pair([one, other]: readonly GatewayProcess[]): readonly [GatewayProcess, GatewayProcess] {
  assert.ok(one !== undefined && other !== undefined);
  return [one, other];
}

interface Blow {
  readonly load: CatalogueLoad;
  readonly staying: GatewayProcess;
  readonly victim: GatewayProcess;
  /** The number of answered writes before the kill. */
  readonly after: number;
}

/** Half of the lanes write to each gateway. After the kill all lanes write to the other one, which answers 40 more writes. */
async function killUnderLoad({ load, staying, victim, after: deadAfter }: Blow): Promise<void> {
  let written = 0;
  let blow: Promise<unknown> | undefined;
  await load.run({
    port: (lane) => {
      if (written >= deadAfter + 40) return undefined;
      return lane % 2 === 0 || blow !== undefined ? staying.port : victim.port;
    },
    wrote: () => {
      written += 1;
      if (written === deadAfter) blow = victim.stop('SIGKILL');
    },
  });
  await blow;
}
