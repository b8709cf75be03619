import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { readCursor } from '../../../src/audit/audit-query.ts';
import { type AuditRecord, createAuditReader } from '../../../src/audit/audit-reader.ts';
import { verifyAudit } from '../../../src/audit/chain/audit-verification.ts';
import { noLog } from '../../../src/base/log.ts';
import { type Database, openDatabase } from '../../../src/database/database.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';
import { seededRandom } from '../seeded-random.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';

interface AuditCrashRoundsResult {
  readonly acknowledged: number;
  /** Calls that the upstream read and whose callers got no reply before the kill. */
  readonly arrivedUnanswered: number;
  readonly unknown: number;
  /** Requests that were sent again with their idempotency keys after a kill, by reply. */
  readonly repeated: Repeated;
}

interface Repeated {
  readonly replayed: number;
  readonly made: number;
  readonly conflicts: number;
}

interface Ledger {
  /** How often the upstream read a call, by path. */
  readonly arrived: Map<string, number>;
  /** The replies, by path. */
  readonly acknowledged: Map<string, string>;
  /** Requests of this round with an idempotency key, by path. */
  readonly keyed: Map<string, CallRequest>;
}

interface CallRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const lanes = 16;

/**
 * Kills a gateway (SIGKILL) under a load of actions and state-changing restCalls, and starts it again, `rounds` times. Compares the
 * audit log with the requests of the upstream and the replies of the callers. The same seed chooses the same moments.
 */
export async function auditCrashRounds(
  owner: Owner,
  options: {
    readonly store: TestStore;
    readonly rounds: number;
    readonly seed: number;
    readonly report?: (line: string) => void;
  },
): Promise<AuditCrashRoundsResult> {
  const { rounds, report } = options;
  const random = seededRandom(options.seed);
  const store = await options.store.fresh(owner);
  const ledger: Ledger = { arrived: new Map(), acknowledged: new Map(), keyed: new Map() };
  const farPort = await countingUpstream(owner, ledger);
  const far = `http://127.0.0.1:${farPort}`;
  const first = await startGatewayProcess(owner, {
    config: { store: { url: storeUrl(store) }, outbound: { allow: [`127.0.0.1:${farPort}`] } },
    adapters: [{ name: 'Far', kind: 'rest', url: far, concurrency: lanes }],
  });
  const database = await openDatabase({ store, log: noLog });
  owner.after(() => database.close());
  const authorization = `Bearer ${await first.tokenFor('admin')}`;
  let gateway = first;
  let [arrivedUnanswered, unknown] = [0, 0];
  const repeated = { replayed: 0, made: 0, conflicts: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const before = Date.now() - 1_000;
    const after = random.whole(1, 150);
    await load({ gateway, far, authorization, ledger, killAfter: after, name: `r${round}` });
    gateway = await gateway.restart();
    const found = await prove(database, ledger, { from: before, name: `r${round}-` });
    unknown += found.unknown;
    arrivedUnanswered += found.arrivedUnanswered;
    await repeat(gateway, ledger, repeated);
    if (round % 10 === 0 || round === rounds) assert.deepEqual((await verifyAudit(database)).problems, []);
    report?.(`round ${round}: killed after ${after}; ${ledger.acknowledged.size} acknowledged, ${unknown} unknown`);
  }
  await gateway.stop();
  assert.deepEqual((await verifyAudit(database)).problems, []);
  return { acknowledged: ledger.acknowledged.size, arrivedUnanswered, unknown, repeated };
}

async function countingUpstream(owner: Owner, { arrived }: Ledger): Promise<number> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    arrived.set(path, (arrived.get(path) ?? 0) + 1);
    request.resume().on('end', () => response.setHeader('Content-Type', 'application/json').end('{"result":"done"}'));
  });
  const port = await listening(server);
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
}

interface Load {
  readonly gateway: GatewayProcess;
  readonly far: string;
  readonly authorization: string;
  readonly ledger: Ledger;
  readonly killAfter: number;
  /** The prefix of every path of this round. */
  readonly name: string;
}

/** Makes calls without a pause, until the gateway is killed during them. */
async function load({ gateway, far, authorization, ledger, killAfter, name }: Load): Promise<void> {
  const pool = new Pool(gateway.url, { connections: lanes });
  let answered = 0;
  const killed = new AbortController();
  let dead: Promise<unknown> | undefined;
  const lane = async (number: number): Promise<void> => {
    for (let count = 0; !killed.signal.aborted; count += 1) {
      const path = `/${name}-${number}-${count}`;
      const action = (number + count) % 3 > 0;
      const body = action
        ? { params: { path, accept: 'application/json' }, body: { a: 1 } }
        : { uri: `${far}${path}`, verb: 'PUT', body: { a: 1 }, responseHeaders: false };
      const target = action ? '/orchestrator_manager/restAction/Far' : '/tools/restCall';
      const key: Record<string, string> = count % 2 === 0 ? { 'idempotency-key': path } : {};
      const headers = { authorization, 'content-type': 'application/json', ...key };
      const request = { path: target, headers, body: JSON.stringify(body) };
      if (count % 2 === 0) ledger.keyed.set(path, request);
      try {
        const reply = await pool.request({ method: 'POST', ...request });
        const text = await reply.body.text();
        // The machine is busy with other processes. The gateway did not make this call.
        if (reply.statusCode === 503 && text.includes('"overloaded"')) continue;
        assert.equal(reply.statusCode, 200, text);
        ledger.acknowledged.set(path, text);
        answered += 1;
        if (answered === killAfter) dead = gateway.stop('SIGKILL').then(() => killed.abort());
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  await dead;
  await pool.destroy();
}

/** Sends the requests with a key again: no call is made twice, and an answered request gets the same reply. */
async function repeat(
  gateway: GatewayProcess,
  { keyed, acknowledged, arrived }: Ledger,
  repeated: { -readonly [Name in keyof Repeated]: number },
): Promise<void> {
  const answered = [...keyed].filter(([path]) => acknowledged.has(path));
  const unanswered = [...keyed].filter(([path]) => !acknowledged.has(path));
  keyed.clear();
  for (const [path, request] of [...unanswered, ...answered.slice(-5)]) {
    const reply = await fetch(`${gateway.url}${request.path}`, { method: 'POST', ...request });
    const text = await reply.text();
    const replayed = reply.headers.get('idempotency-replayed') === 'true';
    const known = acknowledged.get(path);
    if (known !== undefined) assert.deepEqual([reply.status, text, replayed], [200, known, true], path);
    assert.ok(reply.status === 200 || (reply.status === 409 && /"(?:outcome-unknown|idempotency-key-in-use)"/u.test(text)), text);
    const times = arrived.get(path) ?? 0;
    assert.ok(times === 1 || (times === 0 && reply.status === 409), `${path} reached the upstream ${times} times`);
    repeated[reply.status === 409 ? 'conflicts' : replayed ? 'replayed' : 'made'] += 1;
  }
}

async function prove(
  database: Database,
  ledger: Ledger,
  { from, name }: { readonly from: number; readonly name: string },
): Promise<{ readonly unknown: number; readonly arrivedUnanswered: number }> {
  const records = await recordsOf(database, from);
  let [unknown, arrivedUnanswered] = [0, 0];
  for (const [path, times] of ledger.arrived) {
    if (!path.startsWith(`/${name}`)) continue;
    assert.equal(times, 1, `${path} reached the upstream ${times} times`);
    const record = records.get(path);
    assert.ok(record !== undefined, `${path} reached the upstream and is not on record`);
    const acknowledged = ledger.acknowledged.has(path);
    assert.ok(record.outcome === 'ok' || (!acknowledged && record.outcome === 'unknown'), `${path}: ${record.outcome}`);
    if (record.outcome === 'unknown') unknown += 1;
    if (!acknowledged) arrivedUnanswered += 1;
  }
  for (const [path, { outcome }] of records) {
    if (!path.startsWith(`/${name}`) || ledger.arrived.has(path)) continue;
    assert.ok(outcome === 'unknown' || outcome === 'refused', `${path} never reached the upstream`);
  }
  return { unknown, arrivedUnanswered };
}

/** The records by path. A record without an outcome counts as ended, since its gateway was killed. */
async function recordsOf(database: Database, from: number): Promise<ReadonlyMap<string, AuditRecord>> {
  const clock = { now: () => Date.now() + 60_000, monotonic: () => performance.now() };
  const reader = createAuditReader({ database, clock, maxCallDuration: () => 300_000 });
  const records = new Map<string, AuditRecord>();
  let cursor: string | undefined;
  do {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const page = await reader.list({ from, limit: 1_000, ...(after === undefined ? {} : { after }) });
    for (const record of page.list) records.set((record.address ?? '').replace(/^http:\/\/[^/]*/u, ''), record);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return records;
}
