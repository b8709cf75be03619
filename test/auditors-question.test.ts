import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { relay } from './support/callers/calls.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Who changed a router, when, and what was sent: two commands.

const far = await upstream({ after });
far.answer(() => jsonReply('{}'));

eachStore((store) => {
  test('two commands tell who changed a device, and what exactly was sent', async (t) => {
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(await store.fresh(t)) } },
      adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    });
    const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: 'admin-user', GATEWAY_PASSWORD: testPassword };
    for (const device of ['R6', 'R7', 'R70']) {
      const params = { path: `devices/device=${device}`, method: 'PATCH', accept: 'application/json' };
      await relay(gateway, 'restRequest', 'Far', { params, body: { name: device, password: 'hidden' } });
    }
    const day = new Date().toISOString().slice(0, 10);
    const list = async (...more: readonly string[]): Promise<string> => {
      const { code, out, err } = await runCommandLine(
        t,
        ['audit', 'list', '--device', 'R7', '--from', day, '--to', day, ...more],
        { env },
      );
      assert.equal(code, 0, err);
      return out;
    };
    await until('the change is on record', async () => /"outcome":"ok"/u.test(await list()));
    const lines = (await list()).trim().split('\n');
    assert.equal(lines.length, 1);
    const { id, principal } = JSON.parse(lines[0] ?? '') as { readonly id: string; readonly principal: string };
    assert.equal(principal, 'admin-user');
    for (const name of [id, `og-${id.replace('/', '_')}`]) {
      const { code, out, err } = await runCommandLine(t, ['audit', 'show', name], { env });
      assert.equal(code, 0, err);
      assert.match(out, /^principal {3}admin-user$/mu);
      assert.match(out, /^devices {5}\["R7"\]$/mu);
      assert.match(out, /\n\n\{"name":"R7","password":"\*\*\*"\}\n$/u);
    }
    const missing = await runCommandLine(t, ['audit', 'show', 'none/1'], { env });
    assert.deepEqual([missing.code, missing.err], [1, 'orchestration-gateway audit show: there is no record "none/1"\n']);
    const wrong = await runCommandLine(t, ['audit', 'list', '--from', 'yesterday'], { env });
    assert.deepEqual([wrong.code, wrong.err.startsWith('orchestration-gateway audit list: --from ')], [2, true], wrong.err);
    assert.match(await list('--search', 'R7', '--object', 'nothing'), /^$/u);
  });
});
