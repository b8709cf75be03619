import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createPersons } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import { noRights } from '#access/rights/rights.test-support.ts';
import { createApprovalProofs } from '#audit/approval-proofs.ts';
import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import type { Intended } from '#audit/calls/audit-calls.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import type { ApprovalGate, ApprovalPermit } from '#calls/approval-check.ts';
import type { Call } from '#calls/call.ts';
import type { Database } from '#database/database.ts';
import { runStoreOver } from '#runs/journal/run-store.test-support.ts';
import type { ApprovalTasks } from '#runs/tasks/approval-task.ts';
import { createTestClock, type TestClock } from '../../../test/support/gateway/access.ts';
import type { TestStore } from '../../../test/support/stores/stores.ts';
import { type ApprovalCatalogue, createApprovalCatalogue } from '../approval-catalogue.ts';
import { createApprovalGate } from '../approval-gate.ts';
import { proofKeyOf } from '../approval-proof.ts';
import { type ApprovalStore, createApprovalStore } from '../approval-store.ts';
import { createApprovalTasks } from '../approval-tasks.ts';

export const hour = 3_600_000;

function person(name: string, ...groups: readonly string[]): Principal {
  return { id: name, username: name, roles: ['admin'], groups };
}

/** The caller is one of the approvers, and may not approve its own call. */
export const caller = person('ann', 'leads');
export const approvers = [person('lea', 'leads'), person('leo', 'leads'), caller, person('eve')];

export function callWith(body: string): Call {
  const params = { path: 'act', accept: 'application/json' };
  return { operation: 'restAction', adapter: 'NSO', params, passedOn: {}, body: Buffer.from(body) } as Call;
}

export function callTo(address: string): Call {
  return { operation: 'restCall', request: { verb: 'POST', destination: new URL(address), body: Buffer.from('{}') } } as Call;
}

/** Two gateways on one store: each has a gate and an audit log of its own. */
export interface Gateways {
  /** Ids of approvals that ended without a use. */
  readonly expired: string[];
  readonly gates: readonly { readonly gate: ApprovalGate; readonly audit: AuditLog; readonly tasks: ApprovalTasks }[];
  readonly catalogue: ApprovalCatalogue;
  /** Of the first gateway, and its database. */
  readonly approvals: ApprovalStore;
  readonly database: Database;
  readonly clock: TestClock;
}

export async function openGateways(t: TestContext, store: TestStore): Promise<Gateways> {
  const clock = createTestClock();
  const options = await store.empty(t);
  const gates: Gateways['gates'][number][] = [];
  const expired: string[] = [];
  let first: Pick<Gateways, 'approvals' | 'catalogue' | 'database'> | undefined;
  for (const _gateway of [1, 2]) {
    const database = await store.open(t, options);
    const runs = runStoreOver(t, database, clock);
    const audit = await createAuditLog({
      database,
      clock,
      log: noLog,
      version: '1',
      config: { retention: 30 * 24 * hour },
      maxCallDuration: () => hour,
    });
    t.after(() => audit.close());
    const needs = {
      clock,
      key: proofKeyOf('a key of the test'),
      proofs: (approval: string) => createApprovalProofs(database).of([approval]),
      principalNow: async (id: string) => approvers.find((one) => one.id === id),
      isGone: () => false,
      persons: createPersons({ caller: [caller.id, 'ann-cli'] }),
      rules: () => [],
      itemsOf: async () => ({ items: 2, digest: 'd' }),
      shownItems: async () => ({ list: [], isCut: false }),
    };
    const approvals = createApprovalStore({
      ...needs,
      database,
      changeRuns: runs.changeWith,
      audit,
      expired: (over) => void expired.push(...over.map(({ id }) => id)),
      withdrawn: () => undefined,
    });
    const gate = createApprovalGate({
      ...needs,
      store: approvals,
      base: '',
      takePreview: () => undefined,
      maxBytes: 100_000,
    });
    gates.push({ gate, audit, tasks: createApprovalTasks({ ...needs, store: approvals, maxBytes: 100_000 }) });
    const takePreview = () => Promise.resolve({ kind: 'none', at: clock.now() });
    const catalogue = createApprovalCatalogue({
      ...needs,
      store: approvals,
      rights: noRights,
      takePreview,
      known: async () => approvers,
      involvedNow: async () => [],
      seesRun: async () => true,
    });
    first ??= { approvals, catalogue, database };
  }
  assert.ok(first);
  return { gates, ...first, clock, expired };
}

/** Sends a call with the approval it names, as the call path does. The approval is used up with the intent, and given back without one. */
export async function leaves(
  { gate, audit }: Gateways['gates'][number],
  asking: Parameters<ApprovalGate['admit']>[0],
): Promise<boolean | string> {
  let permit: ApprovalPermit | undefined;
  let intended: Intended | undefined;
  try {
    permit = await gate.admit(asking);
    intended = await audit.intend({ event: 'request', proof: permit?.use }, permit?.withIntent);
    permit?.used();
    await intended.outcome({ event: 'request', outcome: 'ok' });
    return true;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.approval?.id ?? false;
  } finally {
    if (intended === undefined) await permit?.release();
  }
}
