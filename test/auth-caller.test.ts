// suite: waiting

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, testPassword } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { accept, as, callerStage, carriers, relayKinds } from './support/runs/caller-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply } from './support/upstreams/upstream.ts';

// An orchestrator that sees the person: each call has a signed assertion of its caller (docs/guides/nso-sees-the-person.md).

const { nso, plain, issuer, ofCarrier, mapping, oidcOf, configured, gateway, send, relay, grant, start, asClient, lastOf, call } =
  await callerStage({ after });

eachStore((store) => {
  const owner = suiteOwner();
  before(() => start(owner, store));

  test('each call carries an assertion of its caller, by each carrier, for each kind of call and with an approval', async () => {
    for (const carrier of carriers)
      for (const [person, groups] of [
        ['ann', ['labs', 'ncsadmin', 'ncsoper']],
        ['bob', ['ncsoper']],
      ] as const)
        for (const kind of relayKinds)
          for (const isApproved of [false, true]) {
            const what = [carrier, person, kind, isApproved].join();
            const isAsked = isApproved && kind !== 'preview';
            let approval: string | undefined;
            if (isAsked) {
              const refused = await call(person, kind, carrier, 'approved');
              approval = assertProblem(refused, 403, 'approval-required').approval?.id ?? '';
              await grant('lea', approval);
            }
            const { length } = ofCarrier[carrier].ofPeople;
            const more = approval === undefined ? {} : { Approval: approval };
            const reply = await call(person, kind, carrier, isAsked ? 'approved' : 'x', more);
            assert.equal(reply.status, 200, `${what}: ${reply.text}`);
            if (carrier === 'bearer' && kind === 'preview') {
              assert.equal(ofCarrier[carrier].ofPeople.length, length, what);
              continue;
            }
            const { iss, aud, sub, exp, iat, act, ...rest } = lastOf(carrier, kind === 'preview');
            assert.deepEqual([sub, [...rest.groups]], [person, [...groups]], what);
            assert.equal(iss, 'https://gateway.example.net');
            assert.equal(aud, carrier === 'basic' ? 'lab' : carrier);
            assert.ok(exp - iat === 60 && Math.abs(iat - Date.now() / 1_000) < 40, what);
            const expected = approval === undefined || carrier === 'basic' ? {} : { approval };
            assert.deepEqual(act, { sub: 'orchestration-gateway', ...expected }, what);
          }
  });

  test('the header of each carrier is the assertion alone, and a Basic one serves for several calls of a person', async () => {
    for (let round = 0; round < 2; round += 1) for (const carrier of carriers) await call('ann', 'restQuery', carrier);
    const heads = carriers.map((carrier) =>
      ofCarrier[carrier].ofPeople.filter(({ assertion }) => assertion?.aud === (carrier === 'basic' ? 'lab' : carrier)).slice(-2),
    );
    const [tokens = [], basics = [], bearers = []] = heads;
    assert.equal(new Set(tokens.map(({ token }) => token)).size, 2);
    assert.equal(new Set(bearers.map(({ token }) => token)).size, 2);
    assert.equal(new Set(basics.map(({ token }) => token)).size, 1);
    assert.equal(tokens[0]?.request.header('authorization'), undefined);
    assert.equal(basics[0]?.request.header('x-auth-token'), undefined);
    assert.match(Buffer.from((basics[0]?.request.header('authorization') ?? '').slice(6), 'base64').toString(), /^ann:/u);
    await call('bob', 'restQuery', 'basic');
    assert.notEqual(ofCarrier.basic.ofPeople.at(-1)?.token, basics[0]?.token);
    const ids = [...nso.ofPeople, ...plain.ofPeople].flatMap(({ assertion }) => assertion?.jti ?? []);
    assert.ok(new Set(ids).size > 20);
  });

  test('the token of the caller leaves in no call, and probes and the YANG library go as the service account', async () => {
    const token = await issuer.token({ sub: '4711', roles: ['admin'] });
    assert.equal((await relay(`Bearer ${token}`, 'restQuery', 'token', { path: 'restconf/data/x' })).status, 200);
    assert.equal(lastOf('token').sub, 'olga');
    for (const { far } of [nso, plain])
      for (const { head } of far.requests) assert.ok(!head.includes(token) && !head.includes(testPassword));
    await send(as('max'), 'POST', '/adapters/token/test');
    const own = nso.calls.filter(({ target }) => /ietf-yang-library|high-availability/u.test(target));
    assert.ok(own.length >= 2);
    for (const { request } of own) assert.equal(request.header('authorization'), basic('probe', 'probe'));
  });

  test('a person of an issuer has the name of its claim, and a principal without a name there is refused before anything leaves', async () => {
    const [before, others] = [nso.far.requests.length, plain.far.requests.length];
    const bearer = async (claims: object): Promise<string> => `Bearer ${await issuer.token({ roles: ['admin'], ...claims })}`;
    const query = { path: 'restconf/data/x' };
    for (const authorization of [
      await asClient('stray'),
      await bearer({ sub: 'nameless' }),
      await bearer({ sub: 'listed', login: ['x'] }),
      await bearer({ sub: 'spaced', login: 'a b' }),
      await bearer({ sub: 'forger', login: 'ann' }),
      await bearer({ sub: 'robber', login: 'robot' }),
      await bearer({ sub: 'olga2', login: 'olga' }),
    ])
      for (const carrier of carriers)
        assertProblem(await relay(authorization, 'restQuery', carrier, query), 403, 'identity-unmapped');
    assert.deepEqual([nso.far.requests.length, plain.far.requests.length], [before, others]);
    assert.equal((await relay(await bearer({ sub: 'ok', login: 'oleg' }), 'restQuery', 'token', query)).status, 200);
    assert.deepEqual([lastOf('token').sub, lastOf('token').groups], ['oleg', []]);
    assert.equal((await relay(await asClient('bot'), 'restQuery', 'token', query)).status, 200);
    assert.equal(lastOf('token').sub, 'robot');
    // A name that an issuer gave to two people is of none of them, also of the one with it first.
    assertProblem(
      await relay(await bearer({ sub: 'ok2', login: 'oleg' }), 'restQuery', 'token', query),
      403,
      'identity-unmapped',
    );
    assertProblem(await relay(await bearer({ sub: 'ok', login: 'oleg' }), 'restQuery', 'token', query), 403, 'identity-unmapped');
  });

  test('a user keeps a name that an issuer gives to another person, who is refused until the configuration says who is who', async (t) => {
    t.after(() => reloadWith(gateway(), configured()));
    const query = { path: 'restconf/data/x' };
    const token = `Bearer ${await issuer.token({ sub: 'maxim', login: 'max', roles: ['admin'] })}`;
    assertProblem(await relay(token, 'restQuery', 'token', query), 403, 'identity-unmapped');
    assert.equal((await relay(as('max'), 'restQuery', 'token', query)).status, 200);
    await reloadWith(gateway(), configured({}, { max: ['max', oidcOf('maxim')] }));
    assert.equal((await relay(as('max'), 'restQuery', 'token', query)).status, 200);
    assert.equal((await relay(token, 'restQuery', 'token', query)).status, 200);
    await reloadWith(gateway(), configured({ users: { ...mapping.users, [oidcOf('maxim')]: 'maxim' } }));
    assert.equal((await relay(as('max'), 'restQuery', 'token', query)).status, 200);
    assert.equal(lastOf('token').sub, 'max');
    assert.equal((await relay(token, 'restQuery', 'token', query)).status, 200);
    assert.equal(lastOf('token').sub, 'maxim');
  });

  test('a refusal of one person is an error of that call, and leaves breaker, state and the calls of others alone', async (t) => {
    t.after(() => nso.answers.clear());
    const adapters = configured().adapters.map((one) => ({ ...one, breaker: { failures: 1, openFor: '60s' } }));
    await reloadWith(gateway(), { ...configured(), adapters });
    t.after(() => reloadWith(gateway(), configured()));
    const state = async () => {
      const { list } = (await send(as('max'), 'GET', '/adapters')).json() as {
        readonly list: readonly {
          readonly name: string;
          readonly state: string;
          readonly lastError?: object;
          readonly urls: readonly { readonly breaker: string }[];
        }[];
      };
      return list.flatMap(({ name, state, lastError, urls: [url] }) =>
        name === 'bearer' ? [] : [[name, state, lastError, url?.breaker]],
      );
    };
    await call('ann', 'restQuery', 'token');
    await call('ann', 'restQuery', 'basic');
    const before = await state();
    const error = '{"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"access-denied"}]}}';
    for (const status of [401, 403]) {
      nso.answers.set('bob', () => jsonReply(error, { status, type: accept }));
      for (const carrier of ['token', 'basic'] as const)
        for (const kind of ['restQuery', 'restAction'] as const)
          for (let round = 0; round < 3; round += 1) {
            const { length } = nso.ofPeople;
            const { detail, upstream } = assertProblem(await call('bob', kind, carrier), 502, 'upstream-error');
            assert.equal(upstream?.status, status);
            assert.match(detail, /The call was sent as bob\./u);
            assert.equal(nso.ofPeople.length, length + 1, 'a refused query is not repeated either');
          }
    }
    assert.deepEqual(await state(), before);
    for (const carrier of ['token', 'basic'] as const) assert.equal((await call('ann', 'restAction', carrier)).status, 200);
    await send(as('max'), 'POST', '/adapters/token/test');
    assert.deepEqual((await state())[0]?.slice(0, 2), ['token', 'online']);
  });

  test('a token that the orchestrator sends back is not kept, and no caller gets it', async (t) => {
    t.after(() => nso.answers.clear());
    nso.answers.set('ann', () =>
      httpReply({ headers: { 'X-Auth-Token': 'stolen', 'Set-Cookie': 's=stolen', 'Content-Type': accept }, body: '{}' }),
    );
    const reply = await relay(as('ann'), 'restRequest', 'token', { path: 'restconf/data/x', method: 'GET' });
    assert.doesNotMatch(JSON.stringify(reply), /stolen/u);
    await call('ann', 'restQuery', 'token');
    assert.ok(nso.ofPeople.every(({ request }) => !request.head.includes('stolen')));
  });

  test('the audit record and the explanation have name and groups of the caller at the orchestrator', async () => {
    await relay(as('bob'), 'restAction', 'token', { path: 'restconf/data/t:recorded' });
    const { list } = (await send(as('max'), 'GET', '/audit?address=t%3Arecorded')).json() as {
      readonly list: readonly { readonly actsAs?: object; readonly principal: string }[];
    };
    assert.deepEqual(
      list.map(({ actsAs, principal }) => [principal, actsAs]),
      [['bob', { name: 'bob', groups: ['ncsoper'] }]],
    );
    const explain = async (principal: string): Promise<object> => {
      const reply = await send(as('max'), 'POST', '/access/explain', {
        principal,
        route: 'restQuery',
        adapter: 'token',
        path: 'x',
      });
      const { allowed, rule, actsAs } = reply.json() as {
        readonly allowed: boolean;
        readonly rule: string;
        readonly actsAs?: object;
      };
      return { allowed, actsAs, rule };
    };
    assert.deepEqual(await explain('ann'), {
      allowed: true,
      actsAs: { name: 'ann', groups: ['labs', 'ncsadmin', 'ncsoper'] },
      rule: 'role admin; allowPaths.queries',
    });
    assert.deepEqual(await explain('stray'), { allowed: false, actsAs: undefined, rule: 'identity-unmapped' });
  });

  test('the preview of an approval is asked as the caller of the call, also where an approver takes it afresh', async () => {
    const refused = await call('bob', 'restRequest', 'token', 'approved');
    const id = assertProblem(refused, 403, 'approval-required').approval?.id ?? '';
    const previews = () =>
      nso.ofPeople.filter(({ assertion, target }) => assertion?.act.approval === id && target.includes('params='));
    await until('the preview was taken', () => previews().length === 1);
    const afresh = await send(as('lea'), 'POST', `/approvals/${id}/preview`);
    assert.equal(afresh.status, 200, afresh.text);
    assert.deepEqual(
      previews().map(({ assertion }) => [assertion?.sub, assertion?.groups]),
      [
        ['bob', ['ncsoper']],
        ['bob', ['ncsoper']],
      ],
    );
  });

  test('without a service account there are no probes and no previews, and the state says so', async (t) => {
    const own = {
      adapters: [
        { ...configured().adapters[0], health: { interval: '1s' }, auth: { type: 'caller', ...mapping, service: undefined } },
      ],
    };
    t.after(() => reloadWith(gateway(), configured()));
    await reloadWith(gateway(), { ...configured(), ...own });
    const { list } = (await send(as('max'), 'GET', '/adapters')).json() as { readonly list: readonly object[] };
    assert.deepEqual(
      list.map((one) => 'asCallers' in one && one.asCallers),
      [{ probes: false }],
    );
    assert.equal((await call('ann', 'restAction', 'token')).status, 200);
    const preview = await call('ann', 'preview', 'token');
    assert.match(preview.text, /"kind":"none","reason":"No dry run was sent to .* has no account of its own \(auth\.service\)/u);
    const tried = (await send(as('max'), 'POST', '/adapters/token/test')).json() as { readonly ok: boolean };
    assert.equal(tried.ok, false);
    const after = (await send(as('max'), 'GET', '/adapters')).json() as { readonly list: readonly { readonly state: string }[] };
    assert.equal(after.list[0]?.state, 'online');
  });

  test('a person that NACM itself puts into a group shows in the state and in the log', async (t) => {
    t.after(() => reloadWith(gateway(), configured()));
    nso.members.set('ncsadmin', ['admin', 'bob']);
    nso.members.set('ncsoper', ['public', 'bob', 'ann']);
    const [first] = configured().adapters;
    await reloadWith(gateway(), { ...configured(), adapters: [{ ...first, health: { interval: '1s' } }] });
    await until('the probe looked', async () =>
      (await send(as('max'), 'GET', '/adapters')).text.includes('"namedPeople":["ann","bob"]'),
    );
    const lines = gateway()
      .stderr.concat(gateway().stdout)
      .filter((line) => line.includes('puts people into groups by itself'));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /name ann, bob: they have these groups/u);
  });
});
