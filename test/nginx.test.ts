// suite: long

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type Nginx, noNginx, startNginx } from './support/gateway/nginx.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { until } from './support/until.ts';
import { closedPort, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// docs/guides/nginx.conf in front of gateways, and nginx with its defaults: then it speaks HTTP/1.0 with the gateway.

const action = '/orchestrator_manager/restAction/Local%20NSO';
const actionBody = JSON.stringify({ params: { path: '/x', accept: 'application/json' }, body: { n: 1 } });
const query = '/orchestrator_manager/restQuery/Local%20NSO';
const queryBody = JSON.stringify({ params: { path: 'a%2Fb', accept: '*/*' } });
const half = Buffer.alloc(512 * 1024, 'x');

for (const how of ['guide', 'defaults'] as const) {
  describe(`nginx ${how === 'guide' ? 'as the guide configures it' : 'with its defaults'}`, { skip: noNginx }, () => {
    let [far, gateway, nginx, headers] = [] as unknown as [Upstream, Gateway, Nginx, Readonly<Record<string, string>>];
    const owner = suiteOwner();
    before(async () => {
      far = await upstream(owner);
      gateway = await startGateway(owner, {
        config: { server: { trustedProxies: ['127.0.0.1'] } },
        adapters: [{ name: 'Local NSO', kind: 'rest', url: far.url, auth: { type: 'none' } }],
      });
      // Nothing listens on the port of the first gateway.
      nginx = await startNginx(owner, [await closedPort(), gateway.port], how);
      headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}`, 'Content-Type': 'application/json' };
    });

    test('R54: a long reply that the gateway breaks off is not complete', async () => {
      far.answer((_request, socket) => {
        socket.write(`HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
        socket.end(half);
      });
      for (let count = 0; count < 5; count += 1) {
        await assert.rejects(nginx.send({ method: 'POST', path: query, headers, body: queryBody }));
      }
    });

    test('an action goes to the other gateway where the first one cannot be reached', async () => {
      far.answer(() => jsonReply('{"done":true}'));
      for (let count = 0; count < 10; count += 1) {
        assert.equal((await nginx.send({ method: 'POST', path: action, headers, body: actionBody })).status, 200);
      }
      assert.equal(far.requests.length, 10);
    });

    test('a long reply and an export are complete', async () => {
      far.answer(() => jsonReply(JSON.stringify({ text: half.toString() })));
      const reply = await nginx.send({ method: 'POST', path: query, headers, body: queryBody });
      assert.deepEqual(JSON.parse(reply.text), { result: [{ instance_data: { text: half.toString() } }] });
      assert.equal(far.request.target, '/a%2Fb');
      const lines = Array.from({ length: 500 }, (_, n) => JSON.stringify({ _id: `a-${n}`, name: `a ${n}` })).join('\n');
      const ndjson = { ...headers, 'Content-Type': 'application/x-ndjson' };
      const imported = await nginx.send({ method: 'POST', path: '/automation_catalog/import', headers: ndjson, body: lines });
      assert.equal(imported.status, 200, imported.text);
      const exported = await nginx.send({ path: '/automation_catalog/export', headers });
      assert.equal(exported.text.trimEnd().split('\n').length, 500);
    });

    if (how === 'defaults') return;

    test('the gateway gets the caller’s own address, and a forged X-Forwarded-For has no effect', async () => {
      const forged = { ...headers, 'X-Forwarded-For': '203.0.113.9', 'X-Request-Id': 'from-127.0.0.7' };
      const reply = await nginx.send({ path: '/whoami', headers: forged, from: '127.0.0.7' });
      assert.equal(reply.status, 200, reply.text);
      const line = (): string | undefined => gateway.stderr.find((each) => each.includes('from-127.0.0.7'));
      await until('the request is logged', () => line() !== undefined);
      assert.match(line() ?? '', /"sourceAddress":"127\.0\.0\.7"/u);
    });

    test('an import may be longer than nginx’s own limit of a body', async () => {
      const long = JSON.stringify({ _id: 'long', name: 'long', data: { description: 'x'.repeat(700_000) } });
      const body = `${long}\n${long.replaceAll('long', 'longer')}\n${long.replaceAll('long', 'longest')}`;
      const ndjson = { ...headers, 'Content-Type': 'application/x-ndjson' };
      const reply = await nginx.send({ method: 'POST', path: '/automation_catalog/import', headers: ndjson, body });
      assert.equal(reply.status, 200, reply.text);
    });
  });
}

test('nginx as the guide configures it does not send an action again that left and was not answered, and says 502', {
  skip: noNginx,
}, async (t) => {
  for (const misdeed of ['end', 'reset'] as const) {
    const gateways = [await upstream(t), await upstream(t)] as const;
    for (const gateway of gateways) {
      gateway.answer(({ method }, socket) => {
        if (method === 'GET') return jsonReply('{}');
        if (misdeed === 'end') socket.end();
        else socket.resetAndDestroy();
        return undefined;
      });
    }
    const nginx = await startNginx(t, [gateways[0].port, gateways[1].port], 'guide');
    const actions = (): number => gateways.flatMap(({ requests }) => requests).filter(({ method }) => method === 'POST').length;
    for (let count = 1; count <= 4; count += 1) {
      // The GET leaves a connection from the caller to nginx, which the action then uses.
      assert.equal((await nginx.send({ path: '/whoami' })).status, 200);
      assert.equal((await nginx.send({ method: 'POST', path: action, body: actionBody })).status, 502);
      assert.equal(actions(), count);
    }
  }
});
