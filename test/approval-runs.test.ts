// suite: waiting

import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { type Gateway, type GatewayProcess, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { type Owner, suiteOwner } from './support/owner.ts';
import { runCaller, type TaskDocument } from './support/runs/run-caller.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Runs that wait for people: tasks that ask a question, and calls that a rule of the configuration matches (docs/guides/approvals.md).

const approvals = [
  // No caller has this role: a rule with roles matches every call of a run in any case.
  { name: 'runs', when: { paths: ['**/act'], roles: ['other'] }, approvers: { groups: ['noc-leads'] } },
  { name: 'documents', when: { routes: ['restCall'], paths: ['**/document'] }, approvers: { groups: ['noc-leads'] } },
];

const params = { path: 'act', accept: 'application/json' };
const act: TaskDocument = {
  act: { call: 'orchestratorAction', with: { adapter: 'Local NSO', params, body: { token: '${ $secrets.token }', n: 1.5 } } },
};
const ask: TaskDocument = {
  ask: {
    call: 'approval',
    with: { message: '${ "Go on with " + .site + "?" }', approvers: { groups: ['noc-leads'] }, count: 2, expires: 'PT1H' },
  },
};

/** `kills`: the gateway has a process of its own, which `killAndRestart` kills. */
async function started(owner: Owner, store: TestStore, { kills = false } = {}) {
  const far = await upstream(owner);
  far.answer(() => jsonReply('{"done":true}'));
  const options = {
    users: [...people],
    config: {
      approvals,
      outbound: { allow: [far.authority] },
      store: { url: storeUrl(await store.empty(owner)) },
      automations: {
        secrets: {
          token: secretConfig(
            { env: 'TOKEN' },
            { destinations: [`${far.url}/`], adapters: ['Local NSO'], places: ['path', 'query', 'body'] },
          ),
        },
      },
    },
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
    environment: { TOKEN: 'hush-hush-hush' },
  };
  let gateway: Gateway | GatewayProcess = await (kills ? startGatewayProcess : startGateway)(owner, options);
  const runs = runCaller(() => gateway, gateway.basicFor('admin'));
  const caller = approvalCaller(() => gateway);
  const automation = async (name: string, tasks: readonly TaskDocument[], secrets = true) => {
    const document = { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' };
    const use = secrets ? { use: { secrets: ['token'] } } : {};
    const text = JSON.stringify({ document, ...use, do: tasks });
    const target = '/automation_catalog/workflows';
    const stored = await gateway.send({
      role: 'admin',
      method: 'POST',
      target,
      headers: { 'Content-Type': 'application/json' },
      body: text,
    });
    assert.equal(stored.status, 201, stored.text);
    const body = JSON.stringify({ name, data: { workflowId: `lab.${name}` } });
    const headers = { 'Content-Type': 'application/json' };
    const made = await gateway.send({ role: 'admin', method: 'POST', target: '/automation_catalog/automations', headers, body });
    assert.equal(made.status, 201, made.text);
    return (made.json() as { readonly _id: string })._id;
  };
  /** The open approval that the run waits for. */
  const waiting = async (run: string): Promise<string> => {
    let id = '';
    await until('the run waits for people', async () => {
      [{ id } = { id: '' }] = await caller.list('lea', `?status=waiting&run=${run}`);
      return id !== '';
    });
    return id;
  };
  const restart = async (): Promise<void> => {
    gateway = await gateway.restart();
  };
  const killAndRestart = async (): Promise<void> => {
    assert.ok('pid' in gateway);
    await gateway.stop('SIGKILL');
    await restart();
  };
  /** Puts a configuration without rules in force. */
  const dropRules = () => reloadWith(gateway, { ...options, config: { ...options.config, approvals: [] } });
  return { far, runs, automation, waiting, restart, killAndRestart, dropRules, ...caller };
}

function suiteOf(store: TestStore): void {
  let shared: Awaited<ReturnType<typeof started>>;
  const owner = suiteOwner();
  before(async () => {
    shared = await started(owner, store);
  });
  // Each test counts its own requests at the upstream.
  beforeEach(() => shared.far.answer(() => jsonReply('{"done":true}')));

  test('a run waits for two people and then for the approval of its call, over restarts, and makes the call once', async (t) => {
    const { far, runs, automation, waiting, restart, killAndRestart, read, grant, send } = await started(t, store, {
      kills: true,
    });
    const { id: run } = await runs.start(await automation('both', [ask, act]), { input: { site: 'Oslo' } });
    const question = await waiting(run);
    const asked = await read('lea', question);
    assert.deepEqual([asked.message, asked.run, asked.call], ['Go on with Oslo?', undefined, undefined]);
    assert.deepEqual([asked.automation, asked.workflow], ['both', 'lab.both'], 'an approver sees the names alone');
    assert.equal((await read('ann', question)).run, run, 'and who may open the run gets its id');
    assert.equal((await runs.read(run)).status, 'waiting');
    await killAndRestart();
    assert.equal((await grant('lea', question)).status, 'waiting');
    assert.equal((await grant('leo', question)).status, 'granted');

    const call = await waiting(run);
    const shown = await read('lea', call);
    assert.deepEqual([shown.call?.route, shown.call?.redacted], ['restAction', true]);
    assert.equal(shown.call?.body, '{"token":"***","n":1.5}');
    assert.deepEqual(shown.call?.secrets, [{ name: 'token', place: 'body' }]);
    assert.equal((await read('ann', question)).status, 'used');
    assert.equal((await runs.reaches(run, 'waiting')).status, 'waiting');
    await restart();
    assert.equal(far.requests.length, 0);
    await grant('lea', call);
    const ended = await runs.reaches(run, 'completed', 'faulted');
    assert.equal(ended.status, 'completed', JSON.stringify(ended));
    assert.deepEqual(ended.output, { done: true });
    assert.equal(far.request.body.toString(), '{"token":"hush-hush-hush","n":1.5}');
    assert.equal((await read('lea', call)).status, 'used');
    const calls = await send('ann', 'GET', `/runs/${run}/calls`);
    assert.match(calls.text, new RegExp(`"approval":"${call}"`, 'u'));
  });

  test('a rejection is an error that a task can catch, and each run asks for itself', async () => {
    const { far, runs, automation, waiting, decide, grant, list } = shared;
    const caught = {
      tried: {
        try: [act],
        catch: {
          errors: { with: { type: 'urn:orchestration-gateway:errors:approval-rejected' } },
          do: [{ said: { set: { said: '${ $error.detail }' } } }],
        },
      },
    };
    const id = await automation('caught', [caught]);
    const [first, second] = await Promise.all([runs.start(id), runs.start(id)]);
    const [one, other] = await Promise.all([waiting(first.id), waiting(second.id)]);
    assert.notEqual(one, other);
    const found = async (wanted: string) => (await list('lea', `?automation=${wanted}`)).map((each) => each.id).toSorted();
    assert.deepEqual(await found('caught'), [one, other].toSorted(), 'by the name of the automation');
    assert.deepEqual(await found(id), [one, other].toSorted(), 'by its id');
    assert.deepEqual(await found('caugh'), []);
    assert.equal((await decide('lea', one, 'reject', 'Not tonight.')).status, 200);
    await grant('lea', other);
    const rejected = await runs.reaches(first.id, 'completed', 'faulted');
    assert.deepEqual(rejected.output, { said: 'approval-rejected: The approval was rejected by lea: Not tonight.' });
    assert.equal((await runs.reaches(second.id, 'completed', 'faulted')).status, 'completed');
    assert.equal(far.requests.length, 1);
  });

  test('what a run no longer waits for cannot be granted: after its cancel, a time limit, and the loss of a race', async () => {
    const { far, runs, automation, waiting, read, list, send } = shared;
    const { id: run } = await runs.start(await automation('cancelled', [act]));
    const open = await waiting(run);
    assert.equal((await runs.change(run, 'cancel')).status, 200);
    assert.equal((await runs.reaches(run, 'cancelled', 'faulted')).status, 'cancelled');
    await until('the approval has expired', async () => (await read('lea', open)).status === 'expired');

    const limited = { limited: { do: [{ act: { ...act['act'], timeout: { after: 'PT1S' } } }] } };
    const { id: late } = await runs.start(await automation('late', [limited]));
    await waiting(late);
    const failed = await runs.reaches(late, 'faulted', 'suspended');
    assert.deepEqual([failed.status, failed.error?.type.split('/').at(-1)], ['faulted', 'timeout']);
    await until('nothing is left to grant', async () => (await list('lea', `?status=waiting&run=${late}`)).length === 0);
    const [{ id: over } = { id: '' }] = await list('lea', `?run=${late}`);
    await until('that is on record', async () => {
      const { list: records } = (await send('ann', 'GET', '/audit?limit=200')).json() as {
        readonly list: readonly { readonly event: string; readonly approval?: { readonly _id: string } }[];
      };
      return records.some(({ event, approval }) => event === 'expired' && approval?._id === over);
    });

    const race = { race: { fork: { compete: true, branches: [act, { pause: { wait: 'PT1S' } }] } } };
    const { id: raced } = await runs.start(await automation('race', [race]));
    const lost = await waiting(raced);
    assert.equal((await runs.reaches(raced, 'completed', 'faulted', 'suspended')).status, 'completed');
    await until('the approval of the loser has expired', async () => (await read('lea', lost)).status === 'expired');
    assert.equal(far.requests.length, 0);
  });

  test('what people decide about a call of a run holds where no rule asks for it any more', async (t) => {
    const { far, runs, automation, waiting, dropRules, killAndRestart, decide, grant, read } = await started(t, store, {
      kills: true,
    });
    const id = await automation('asked', [act]);
    const [rejected, granted] = await Promise.all([runs.start(id), runs.start(id)]);
    const [one, other] = await Promise.all([waiting(rejected.id), waiting(granted.id)]);
    await dropRules();
    await decide('lea', one, 'reject');
    assert.match((await runs.reaches(rejected.id, 'completed', 'faulted')).error?.type ?? '', /approval-rejected$/u);
    assert.equal(far.requests.length, 0);
    await killAndRestart();
    await grant('lea', other);
    assert.equal((await runs.reaches(granted.id, 'completed', 'faulted')).status, 'completed');
    assert.deepEqual([far.requests.length, (await read('lea', other)).status], [1, 'used']);
  });

  test('what people are asked and what is on record have no secret of a workflow in addresses, texts and questions', async () => {
    const { far, runs, automation, waiting, list, read, grant, send } = shared;
    const document = { endpoint: `\${ "${far.url}/document?key=" + $secrets.token }` };
    const opened = await runs.start(
      await automation('document', [{ get: { call: 'openapi', with: { document, operationId: 'x' } } }]),
    );
    await runs.reaches(opened.id, 'completed', 'faulted');
    const headers = { 'Content-Type': 'application/xml' };
    const text = '${ "<a>\\n<b>" + $secrets.token + "</b></a>" }';
    const sent = {
      put: { call: 'restCall', with: { uri: `\${ "${far.url}/" + $secrets.token + "/act" }`, verb: 'PUT', headers, body: text } },
    };
    const { id: writing } = await runs.start(await automation('text', [sent]));
    const written = await waiting(writing);
    assert.equal((await read('lea', written)).call?.body, '<a>\n<b>***</b></a>');
    const asked = { message: '${ $secrets.token }', approvers: { groups: ['noc-leads'] } };
    const { id: asking } = await runs.start(await automation('question', [{ ask: { call: 'approval', with: asked } }]));
    assert.equal((await read('lea', await waiting(asking))).message, '***');
    const all = await list('lea');
    assert.ok(all.length >= 3);
    for (const { id } of all) assert.doesNotMatch(JSON.stringify(await read('lea', id)), /hush|s[a-z0-9]{39}/u);
    await grant('lea', written);
    assert.equal((await runs.reaches(writing, 'completed', 'faulted')).status, 'completed');
    assert.equal(far.request.target, '/hush-hush-hush/act');
    const records = await send('ann', 'GET', '/audit?limit=200');
    assert.match(records.text, /\/\*\*\*\/act/u);
    assert.doesNotMatch(records.text, /hush/u);
  });
}

eachStore(suiteOf);
