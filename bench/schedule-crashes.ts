/**
 * Three gateways on one PostgreSQL and automations that are due every three seconds; one gateway is killed.
 *
 *   node bench/schedule-crashes.ts [AUTOMATIONS] [SECONDS]        default 60 automations, 40 seconds
 *
 * Exit code 1 where a due time has two runs, an action arrived twice, or a completed run has not made its action. PostgreSQL is the one at
 * TEST_POSTGRES_URL, else at 127.0.0.1:5432.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../test/support/callers/http-client.ts';
import type { GatewayProcess } from '../test/support/gateway/start-gateway.ts';
import { countingUpstream } from '../test/support/runs/counting-upstream.ts';
import { actionTask, type SeenRun } from '../test/support/runs/run-caller.ts';
import { adminAt, runGateway } from '../test/support/runs/run-stage.ts';
import { foundPostgres, storeUrl } from '../test/support/stores/stores.ts';

interface ScheduledRun extends SeenRun {
  readonly automation: string;
  readonly startedBy: { readonly due?: string };
}

const [automations = 60, seconds = 40] = process.argv.slice(2).map(Number);
if (foundPostgres === undefined) throw new Error('no PostgreSQL answers');
await using closing = new AsyncDisposableStack();
const owner = {
  after(close: () => void | Promise<void>) {
    closing.defer(async () => close());
  },
};
const url = storeUrl(await foundPostgres.fresh(owner));
const far = await countingUpstream(owner);
far.answerAfter(() => 20);
const names = ['a', 'b', 'c'];
const gateways: GatewayProcess[] = [];
for (const name of names) gateways.push(await runGateway(owner, far, { url, name }));
const [killed, other] = gateways;
assert.ok(killed !== undefined && other !== undefined);
const caller = await adminAt(other);
const authorization = `Bearer ${await other.tokenFor('admin')}`;
const headers = { authorization, 'content-type': 'application/json' };
await caller.automation('due', [actionTask('act', '$workflow.id')]);
const ids: string[] = [];
const nextRunAt = new Date(Date.now() + 5_000).toISOString();
for (let number = 0; number < automations; number += 1) {
  const given = { name: `due ${number}`, nextRunAt, repeatInterval: '3 seconds', data: { workflowId: 'crash.due' } };
  const target = '/automation_catalog/automations';
  const made: Reply = await other.send({ method: 'POST', target, headers, body: JSON.stringify(given) });
  assert.equal(made.status, 201, made.text);
  ids.push((made.json() as { readonly _id: string })._id);
}
await sleep(seconds * 500);
await killed.stop('SIGKILL');
console.log(`one of three gateways was killed after ${far.arrivals.length} actions`);
await sleep(seconds * 500);
for (const id of ids) {
  const target = `/automation_catalog/automations/${id}`;
  const paused = await other.send({ method: 'PATCH', target, headers, body: '{"nextRunAt":null}' });
  assert.equal(paused.status, 200, paused.text);
}
let runs: readonly ScheduledRun[];
do {
  await sleep(500);
  runs = (await caller.list()) as readonly ScheduledRun[];
} while (runs.some(({ status }) => status !== 'completed' && status !== 'suspended' && status !== 'faulted'));
const due = new Set(runs.map(({ automation, startedBy }) => `${automation} ${startedBy.due}`));
assert.equal(due.size, runs.length, 'a due time has two runs');
assert.equal(far.arrived.size, far.arrivals.length, 'an action arrived twice');
for (const { id, status } of runs) {
  assert.notEqual(status, 'faulted', id);
  if (status === 'completed') assert.equal(far.arrived.get(id), 1, `${id} has not made its action`);
}
const suspended = runs.filter(({ status }) => status === 'suspended').length;
const from = names.map((name) => far.arrivals.filter((arrival) => arrival.from === name).length);
console.log(`${runs.length} runs for ${due.size} due times, ${suspended} suspended; actions of the gateways: ${from.join(', ')}`);
