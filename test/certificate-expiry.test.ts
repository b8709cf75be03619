import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { logLines, reloadWith } from './support/gateway/reloading.ts';
import { type CliRun, runCommandLine } from './support/gateway/run-command-line.ts';
import { configurationOf, startGateway } from './support/gateway/start-gateway.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { createAuthority, type Identity } from './support/upstreams/certificate.ts';

// Certificates of the configuration that have expired or expire soon: at check-config, at the start, at a reload, and in the metrics.

const day = 86_400_000;
const authority = createAuthority();
const owner = { after };

/** The files of a certificate that expires after so many days. */
function filesFor(days: number): { readonly certFile: string; readonly keyFile: string } {
  const notBefore = new Date(Date.now() - 400 * day);
  const identity: Identity = authority.issue({ names: ['127.0.0.1'], notBefore, notAfter: new Date(Date.now() + days * day) });
  return {
    certFile: temporaryFile(owner, 'cert.pem', identity.cert),
    keyFile: temporaryFile(owner, 'key.pem', identity.key),
  };
}

const [expired, ending, lasting] = [filesFor(-3), filesFor(5), filesFor(200)];
const caFile = temporaryFile(owner, 'ca.pem', authority.cert);
const adapterWith = (tls: object): object => ({ name: 'A', kind: 'nso', url: 'https://127.0.0.1:9', tls });

/** A configuration for each use of a certificate, and the key that names the certificate. */
const uses = [
  ['server', (tls: object) => ({ config: { server: { tls } } }), 'server.tls.certFile'],
  ['client of restCall', (tls: object) => ({ config: { outbound: { tls } } }), 'outbound.tls.certFile'],
  ['adapter', (tls: object) => ({ adapters: [adapterWith(tls) as Record<string, unknown>] }), 'adapters[0].tls.certFile'],
] as const;

const configured = (configuration: Parameters<typeof configurationOf>[0]): string =>
  temporaryFile(owner, 'gateway.yaml', JSON.stringify(configurationOf(configuration)));
const checked = (configuration: Parameters<typeof configurationOf>[0]): Promise<CliRun> =>
  runCommandLine(owner, ['check-config', configured(configuration)]);

for (const [use, configuration, key] of uses) {
  describe(`the certificate of a ${use}`, () => {
    test('is an error at check-config and at the start where it has expired, with its date', async () => {
      const { code, err } = await checked(configuration(expired));
      assert.equal(code, 1);
      const date = new Date(Date.now() - 3 * day).toISOString().slice(0, 10);
      assert.ok(err.includes(`${key}: the certificate expired on ${date}`), err);
      const served = await runCommandLine(owner, ['serve', '--config', configured(configuration(expired))]);
      assert.deepEqual([served.code, served.served, served.err.includes('the certificate expired on')], [1, [], true]);
    });

    test('is a warning of check-config where it expires soon', async () => {
      const { code, err } = await checked(configuration(ending));
      assert.equal(code, 0, err);
      assert.match(err, /certFile: the certificate expires on \d{4}-\d\d-\d\d.*\(warning\)/u);
    });

    test('is no problem where it lasts', async () => {
      const { code, err } = await checked(configuration(lasting));
      assert.deepEqual([code, err], [0, '']);
    });
  });
}

test('a running gateway warns of certificates that expire soon, and measures when each expires', async () => {
  const gateway = await startGateway(owner, {
    config: { outbound: { tls: { caFile } } },
    adapters: [adapterWith({ ...ending, caFile }) as Record<string, unknown>],
  });
  const warnings = logLines(gateway).filter(({ reason }) => /certificate expires on/u.test(reason ?? ''));
  assert.deepEqual(
    warnings.map(({ level }) => level),
    ['warn'],
  );
  const secondsLeft = async (labels: string): Promise<number> => {
    const { text } = await gateway.send({ target: '/metrics', role: 'readonly' });
    const line = text.split('\n').find((one) => one.startsWith(`gateway_certificate_expiry_timestamp_seconds{${labels}} `));
    return Number(line?.split(' ').at(-1)) - Date.now() / 1000;
  };
  const daysLeft = async (labels: string): Promise<number> => Math.round((await secondsLeft(labels)) / 86_400);
  assert.equal(await daysLeft('use="adapter",adapter="A",file="certFile"'), 5);
  assert.equal(await daysLeft('use="adapter",adapter="A",file="caFile"'), 30);
  assert.equal(await daysLeft('use="outbound",adapter="",file="caFile"'), 30);
  await reloadWith(gateway, { adapters: [adapterWith(lasting) as Record<string, unknown>] });
  assert.equal(await daysLeft('use="adapter",adapter="A",file="certFile"'), 200);
  assert.ok(Number.isNaN(await secondsLeft('use="outbound",adapter="",file="caFile"')));
});

test('the authorities of a caFile are an error only where each has expired', async () => {
  const past = filesFor(-3).certFile;
  const mixed = temporaryFile(owner, 'mixed.pem', readFileSync(past, 'utf8') + authority.cert);
  assert.equal((await checked({ adapters: [adapterWith({ caFile: mixed }) as Record<string, unknown>] })).code, 0);
  const { code, err } = await checked({ adapters: [adapterWith({ caFile: past }) as Record<string, unknown>] });
  assert.equal(code, 1);
  assert.match(err, /caFile: every certificate of the file has expired, the last on /u);
});
