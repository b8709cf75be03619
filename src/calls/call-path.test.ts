import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { continueTrace } from '#base/trace-context.ts';
import { loadConfig } from '#config/load-config.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import { createBodyMask } from '#relay/body-mask.ts';
import { checkParams } from '#relay/orchestrator-request.ts';
import { judgeRestCall } from '#relay/rest-call-request.ts';
import { createLiveParts } from '#wiring/live-parts.ts';
import { noApprovalGate } from '../../test/support/runs/no-approvals.ts';
import { noIdentities } from '../../test/support/runs/no-identities.ts';
import { temporaryFile } from '../../test/support/temporary-file.ts';
import { jsonReply, type Upstream, upstream } from '../../test/support/upstreams/upstream.ts';
import type { Call } from './call.ts';
import { type CallPath, createCallPath } from './call-path.ts';
import { CallRecord } from './call-record.ts';
import { createRateLimit } from './rate-limit.ts';

const scheduler: Principal = { id: 'scheduler', username: 'scheduler', roles: ['admin'], groups: [] };

/** What the audit log got, in order. */
type Recorded = { readonly kind: 'intent' | 'outcome' | 'record'; readonly facts: AuditFacts };

/** An entrance that is no HTTP request: it has a principal, a name for its records, and nothing else. */
interface Entrance {
  readonly far: Upstream;
  readonly recorded: Recorded[];
  /** Resolves to the text of the upstream's reply. */
  readonly perform: (call: Call, principal?: Principal) => Promise<string>;
}

async function entrance(t: TestContext): Promise<Entrance> {
  const far = await upstream(t);
  const file = temporaryFile(
    t,
    'gateway.yaml',
    `access: { users: [] }
outbound: { allow: ["${far.authority}"] }
adapters:
  - { name: NSO, kind: nso, url: "${far.url}", auth: { type: none }, health: off, denyPaths: { actions: ["**/sync-to"], queries: [] } }
`,
  );
  const { config } = await loadConfig({ file, cwd: '/', env: {} });
  const resolve = createResolver({ concurrency: 2 });
  const pooled = <S>(_labels: object, sender: S): S => sender;
  const live = createLiveParts({
    config,
    adapterNeeds: { resolve, clock: systemClock, userAgent: 'test', pooled, log: noLog },
    outboundNeeds: { resolve, ownListeners: () => [], pooled },
    log: noLog,
  });
  t.after(() => live.close());
  const recorded: Recorded[] = [];
  const rateLimit = createRateLimit({ calls: 2, per: 60_000, clock: systemClock });
  const calls = createCallPath({
    adapters: () => live.adapters(),
    outbound: () => live.outbound(),
    customRoles: () => live.customRoles(),
    approvalRules: () => live.approvalRules(),
    gate: noApprovalGate,
    identities: noIdentities,
    rateLimit: () => rateLimit,
    maskBody: createBodyMask([]),
    userAgent: 'test',
  });
  return { far, recorded, perform: (call, principal = scheduler) => performed({ calls, recorded, call, principal }) };
}

async function performed(options: {
  readonly calls: CallPath;
  readonly recorded: Recorded[];
  readonly call: Call;
  readonly principal: Principal;
}): Promise<string> {
  const { calls, recorded, call, principal } = options;
  const record = new CallRecord({
    origin: {
      requestId: 'run-1',
      trace: continueTrace(undefined),
      span: undefined,
      sourceAddress: '',
      route: 'a run',
      address: '',
      isRecorded: true,
    },
    audit: recordingAudit(recorded),
    clock: systemClock,
    observers: { metrics: { attemptEnded() {} }, log: noLog },
  });
  record.principal = principal;
  let ended = (_complete: boolean): void => {};
  try {
    const answer = await calls.perform(call, {
      record,
      wait: undefined,
      whenEnded: (callback) => void (ended = callback),
      whenStopping: () => () => {},
    });
    assert.ok(answer.kind === 'reply');
    return answer.reply.head.toString();
  } catch (failure) {
    if (failure instanceof GatewayError) record.failure = failure;
    throw failure;
  } finally {
    ended(true);
    record.end({ status: undefined, left: undefined });
  }
}

function recordingAudit(recorded: Recorded[]): AuditLog {
  return {
    async intend(facts) {
      recorded.push({ kind: 'intent', facts });
      return {
        id: 'chain/1',
        step: async () => {},
        outcome: async (more) => void recorded.push({ kind: 'outcome', facts: more }),
        amend: (more) => void recorded.push({ kind: 'outcome', facts: more }),
      };
    },
    intendOnce: () => Promise.reject(new Error('no call here has a key')),
    record: (facts) => void recorded.push({ kind: 'record', facts }),
    join: () => () => {},
    prove: async () => {},
    recordRefusal: (facts) => void recorded.push({ kind: 'record', facts }),
    keepsReply: () => true,
    counts: () => ({ waiting: 0, dropped: 0, repeated: 0, withoutRoom: 0, lost: 0, early: 0 }),
    check: async () => {},
    recordLost: async () => {},
    close: async () => {},
  };
}

function action(path: string): Call {
  const { params } = checkParams({ path, accept: 'application/yang-data+json' }, undefined);
  assert.ok(params !== undefined);
  return { operation: 'restAction', adapter: 'NSO', params, passedOn: {}, body: Buffer.from('{"a":1.0}') };
}

test('an action of a principal that no HTTP request brought is on record before it leaves, and its outcome after', async (t) => {
  const { far, recorded, perform } = await entrance(t);
  far.answer(() => {
    assert.deepEqual(
      recorded.map(({ kind }) => kind),
      ['intent'],
    );
    return jsonReply('{"done":true}');
  });
  assert.equal(await perform(action('restconf/data/x/act')), '{"done":true}');
  assert.equal(far.request.body.toString(), '{"a":1.0}');
  const [intent, outcome] = recorded.map(({ facts }) => facts);
  assert.deepEqual([intent?.principal, intent?.route, intent?.adapter, intent?.verb], ['scheduler', 'a run', 'NSO', 'POST']);
  assert.deepEqual([outcome?.outcome, outcome?.upstreamStatus], ['ok', 200]);
});

test('a principal without the role is refused by the call path itself, and the refusal is on record', async (t) => {
  const { far, recorded, perform } = await entrance(t);
  far.answer(() => jsonReply('{}'));
  const reader: Principal = { id: 'r', username: 'r', roles: ['readonly'], groups: [] };
  await assert.rejects(perform(action('restconf/data/x'), reader), { code: 'forbidden' });
  const unknown = { ...action('restconf/data/x'), adapter: 'none' } as Call;
  await assert.rejects(perform(unknown, reader), { code: 'forbidden' }, 'adapters are named to those who may call them');
  await assert.rejects(perform(unknown), { code: 'adapter-not-found' });
  assert.equal(far.requests.length, 0);
  assert.equal(recorded.at(-1)?.facts.adapter, undefined, 'no record has the name of an adapter that does not exist');
  assert.deepEqual(
    recorded.slice(0, 1).map(({ kind, facts }) => [kind, facts.decision, facts.outcome]),
    [['record', 'denied', 'refused']],
  );
});

test('path rights and the outbound policy refuse before the call is counted', async (t) => {
  const { far, perform } = await entrance(t);
  far.answer(() => jsonReply('{}'));
  for (let count = 0; count < 5; count += 1) {
    await assert.rejects(perform(action('restconf/data/x/sync-to')), { code: 'path-denied' });
    const { request } = judgeRestCall({ uri: 'http://127.0.0.1:1/', verb: 'GET', responseHeaders: false });
    assert.ok(request !== undefined);
    await assert.rejects(perform({ operation: 'restCall', request }), { code: 'destination-denied' });
  }
  assert.equal(far.requests.length, 0);
  await perform(action('restconf/data/x'));
  await perform(action('restconf/data/x'));
  await assert.rejects(perform(action('restconf/data/x')), { code: 'too-many-requests' });
  assert.equal(far.requests.length, 2);
});

test('the rate limit counts each principal by its id, not by its name', async (t) => {
  const { far, perform } = await entrance(t);
  far.answer(() => jsonReply('{}'));
  const other: Principal = { ...scheduler, id: 'oidc:["https://issuer.example","1"]' };
  for (const principal of [scheduler, other]) {
    await perform(action('restconf/data/x'), principal);
    await perform(action('restconf/data/x'), principal);
    await assert.rejects(perform(action('restconf/data/x'), principal), { code: 'too-many-requests' });
  }
  assert.equal(far.requests.length, 4);
});
