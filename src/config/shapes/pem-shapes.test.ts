import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, loadConfig } from '../load-config.ts';

const fixture = (name: string): Promise<string> => readFile(new URL(`fixtures/test-only-${name}.pem`, import.meta.url), 'utf8');

test('certificates and keys are PEM files that belong together', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  const [certificate, key] = [await fixture('certificate'), await fixture('key')];
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const files = {
    'cert.pem': certificate,
    'bundle.pem': `# two\n${certificate}\n${certificate}`,
    'key.pem': key,
    'other.pem': other.export({ type: 'pkcs8', format: 'pem' }),
    'locked.pem': other.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }),
    'broken.pem': certificate.replace(/\n.{20}/u, '\n'),
    'none.pem': 'nothing',
    'weak.pem': await fixture('weak-certificate'),
    'weak-key.pem': await fixture('weak-key'),
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(cwd, name), content);

  const loadWith = async (rest: string) => {
    await writeFile(join(cwd, 'gateway.yaml'), `access: {}\n${rest}\n`);
    return loadConfig({ file: 'gateway.yaml', env: {}, cwd });
  };
  const refusal = (rest: string): Promise<string> =>
    loadWith(rest).then(
      () => 'accepted',
      (error: unknown) => (error instanceof ConfigError ? error.message : Promise.reject(error)),
    );
  const adapter = (tls: string): string => `adapters: [{ name: A, kind: nso, url: "https://a", tls: ${tls} }]`;

  const server = (await loadWith('server: { tls: { certFile: cert.pem, keyFile: key.pem } }')).config.server.tls;
  assert.deepEqual([server?.cert, server?.key.reveal()], [certificate, key]);

  const full = await loadWith(
    adapter('{ caFile: bundle.pem, certFile: cert.pem, keyFile: key.pem, serverName: nso.example.net, verify: false }'),
  );
  const { ca, cert, key: clientKey, serverName, verify } = full.config.adapters[0]?.tls ?? {};
  assert.deepEqual(
    [ca, cert, clientKey?.reveal(), serverName, verify],
    [files['bundle.pem'], certificate, key, 'nso.example.net', false],
  );
  assert.match(full.warnings.at(-1)?.message ?? '', /certificates are not verified/u);
  assert.deepEqual((await loadWith('outbound: { tls: { caFile: cert.pem } }')).config.outbound.tls, {
    ca: certificate,
    verify: true,
  });

  assert.match(await refusal('server: { tls: { certFile: cert.pem } }'), /server\.tls\.keyFile: is required and missing/u);
  assert.match(
    await refusal('server: { tls: { certFile: cert.pem, keyFile: other.pem } }'),
    /keyFile: does not belong to the certificate/u,
  );
  for (const weak of [
    'server: { tls: { certFile: weak.pem, keyFile: weak-key.pem } }',
    adapter('{ certFile: weak.pem, keyFile: weak-key.pem }'),
  ])
    assert.match(await refusal(weak), /certFile: cannot be used for TLS \(ee key too small\)/u);
  assert.equal((await refusal('server: { tls: { certFile: cert.pem } }')).match(/keyFile/gu)?.length, 1);
  assert.match(await refusal(adapter('{ certFile: cert.pem }')), /certFile: needs keyFile$/u);
  assert.match(await refusal(adapter('{ keyFile: key.pem }')), /keyFile: needs certFile$/u);
  assert.match(await refusal(adapter('{ caFile: none.pem }')), /holds no certificate in PEM form/u);
  assert.match(await refusal(adapter('{ caFile: key.pem }')), /holds no certificate in PEM form/u);
  assert.match(await refusal(adapter('{ caFile: broken.pem }')), /certificate that does not parse \(number 1\)/u);
  assert.match(await refusal(adapter('{ certFile: cert.pem, keyFile: locked.pem }')), /holds an encrypted key/u);
  assert.match(await refusal(adapter('{ certFile: cert.pem, keyFile: cert.pem }')), /holds no private key/u);
  assert.match(await refusal(adapter('{ caFile: absent.pem }')), /absent\.pem does not exist/u);
  assert.match(await refusal('outbound: { tls: { verify: false } }'), /outbound\.tls\.verify: is unknown/u);
});
