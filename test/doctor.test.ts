// suite: long

import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { command } from './support/gateway/command.ts';
import { configurationOf, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { listening } from './support/listen.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { tlsUpstream } from './support/upstreams/tls-upstream.ts';

// The commands doctor and healthcheck: docs/reference/command-line.md.

const authority = createAuthority();

function folder(t: TestContext, options: Parameters<typeof configurationOf>[0]): string {
  const directory = mkdtempSync(join(tmpdir(), 'doctor-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf(options)), { mode: 0o600 });
  return directory;
}

interface Found {
  readonly subject: string;
  readonly verdict: string;
  readonly detail: string;
}

async function examine(directory: string, environment = {}) {
  const { code, stdout, stderr } = await command(['doctor', '--json'], { directory, environment });
  const found = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Found);
  return { code, stderr, found, of: (subject: string) => found.find((one) => one.subject.startsWith(subject)) };
}

test('doctor reaches each adapter without a request, names what is wrong with one, and tells no secret', async (t) => {
  const far = await tlsUpstream(t, authority.issue({ names: ['127.0.0.1'], notAfter: new Date('2099-01-01') }));
  const expiring = authority.issue({ names: ['127.0.0.1'], notAfter: new Date(Date.now() + 86_400_000) });
  const late = await tlsUpstream(t, expiring);
  const secret = 'a-planted-secret-of-doctor';
  const auth = { type: 'basic', username: 'gateway', password: { env: 'FAR_PASSWORD' } };
  const clientSecret = { env: 'FAR_PASSWORD' };
  const tokens = { type: 'oauth2', tokenUrl: 'https://127.0.0.1:1/token', clientId: 'gateway', clientSecret };
  const adapters = [
    { name: 'good', kind: 'rest', url: far.url, auth, tls: { caFile: 'ca.pem' } },
    { name: 'late', kind: 'rest', url: late.url, auth, tls: { caFile: 'ca.pem' } },
    { name: 'untrusted', kind: 'rest', url: far.url, auth },
    { name: 'nameless', kind: 'rest', url: 'https://no-such-host.invalid', auth },
    { name: 'closed', kind: 'rest', url: 'http://127.0.0.1:1', auth },
    { name: 'tokenless', kind: 'rest', url: far.url, auth: tokens, tls: { caFile: 'ca.pem' } },
  ];
  const directory = folder(t, { adapters });
  writeFileSync(join(directory, 'ca.pem'), authority.cert);
  const { code, stderr, found, of } = await examine(directory, { FAR_PASSWORD: secret });
  assert.equal(code, 1);
  assert.equal(of('adapter good')?.verdict, 'ok');
  assert.match(of('adapter good')?.detail ?? '', /^dns, connect, tls; its certificate is valid until 2099-01-01/u);
  assert.equal(of('adapter late')?.verdict, 'warning');
  assert.equal(of('adapter untrusted')?.verdict, 'problem');
  assert.match(of('adapter untrusted')?.detail ?? '', /certificate/u);
  assert.match(of('adapter nameless')?.detail ?? '', /no-such-host\.invalid/u);
  assert.match(of('adapter closed')?.detail ?? '', /ECONNREFUSED/u);
  assert.equal(of('adapter tokenless, 127')?.verdict, 'ok');
  assert.match(of('adapter tokenless, tokens of 127.0.0.1:1')?.detail ?? '', /ECONNREFUSED/u);
  assert.deepEqual([far.requests, late.requests], [[], []], 'no request left');
  assert.ok(!(JSON.stringify(found) + stderr).includes(secret));
  assert.equal(of('store')?.verdict, 'ok');
  assert.ok(!existsSync(join(directory, 'gateway.db')), 'it makes no store');
});

test('doctor looks at the store of a running gateway, its port, disk and clock, and exits with 0', async (t) => {
  const gateway = await startGatewayProcess(t);
  const config = { server: { port: gateway.port }, store: { url: `sqlite:${join(gateway.directory, 'gateway.db')}` } };
  const { code, found, of } = await examine(folder(t, { config }));
  assert.equal(code, 0, JSON.stringify(found));
  assert.match(of('port')?.detail ?? '', /^a gateway answers at 127\.0\.0\.1:/u);
  assert.match(of('version')?.detail ?? '', /Node\.js v26/u);
  for (const subject of ['configuration', 'version', 'rights', 'port', 'disk', 'store', 'clock'])
    assert.notEqual(of(subject)?.verdict, 'problem', subject);
  assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
});

test('doctor names a damaged store, a port that another program has, and a configuration that everybody can read', async (t) => {
  const server = createServer((_request, response) => response.writeHead(404).end());
  const port = await listening(server);
  t.after(() => server.close());
  const directory = folder(t, { config: { server: { port } } });
  writeFileSync(join(directory, 'gateway.db'), 'no database at all, but a file of its name');
  writeFileSync(join(directory, 'gateway.audit.db'), '');
  chmodSync(join(directory, 'gateway.yaml'), 0o644);
  const { code, of } = await examine(directory);
  assert.equal(code, 1);
  assert.deepEqual([of('port')?.verdict, of('store')?.verdict, of('rights')?.verdict], ['problem', 'problem', 'warning']);
  assert.match(of('port')?.detail ?? '', /another program has 127\.0\.0\.1:\d+ \(status 404\)/u);
});

test('doctor has each problem of the configuration as a finding, after the version of the program', async (t) => {
  const adapters = [
    { name: 'far', kind: 'rest', url: 'ftp://far.example.net', auth: { type: 'bearer', token: { env: 'NOT_SET' } } },
  ];
  const { code, stderr, found } = await examine(folder(t, { adapters }));
  assert.deepEqual([code, stderr], [1, '']);
  assert.deepEqual(
    found.map(({ subject, verdict }) => `${subject} ${verdict}`),
    ['version ok', 'configuration problem', 'configuration problem'],
  );
  assert.match(found[1]?.detail ?? '', /^gateway\.yaml:\d+:\d+: adapters\[0\]\.url/u);
  assert.match(found[2]?.detail ?? '', /NOT_SET/u);
});

test('doctor names an address that this machine does not have, and what others can do to the files of the store', async (t) => {
  const gateway = await startGatewayProcess(t);
  const store = join(gateway.directory, 'gateway.db');
  const config = { server: { host: '192.0.2.1', port: gateway.port }, store: { url: `sqlite:${store}` } };
  chmodSync(store, 0o644);
  const directory = folder(t, { config });
  const { code, found, of } = await examine(directory);
  assert.equal(code, 1);
  assert.equal(of('port')?.detail, '192.0.2.1 is not an address of this machine; correct server.host.');
  assert.ok(found.some(({ verdict, detail }) => verdict === 'warning' && detail.endsWith(`chmod o-rwx ${store}`)));
  if (process.getuid?.() !== 0) return;
  chownSync(`${store}.lock`, 12_345, 12_345);
  const later = await examine(directory);
  assert.ok(
    later.found.some(({ verdict, detail }) => verdict === 'warning' && detail.includes('.lock belongs to the user 12345')),
  );
});

test('healthcheck asks the gateway of the configuration, over TLS as well, and exits with 1 where none answers', async (t) => {
  const identity = authority.issue({ names: ['gateway.example.net'] });
  const files = folder(t, {});
  writeFileSync(join(files, 'cert.pem'), identity.cert);
  writeFileSync(join(files, 'key.pem'), identity.key);
  const tls = { certFile: join(files, 'cert.pem'), keyFile: join(files, 'key.pem') };
  const gateway = await startGatewayProcess(t, { config: { server: { tls } } });
  const adapters = [{ name: 'a', kind: 'rest', url: 'http://127.0.0.1:1', auth: { type: 'bearer', token: { env: 'NOT_SET' } } }];
  const directory = folder(t, { config: { server: { port: gateway.port, tls } }, adapters });
  for (const parameters of [['healthcheck'], ['healthcheck', '--ready']]) {
    const { code, stdout, stderr } = await command(parameters, { directory });
    assert.deepEqual([code, stdout, stderr], [0, '', ''], 'no secret is read');
  }
  assert.equal(await gateway.stop('SIGTERM'), 0);
  const { code, stderr } = await command(['healthcheck'], { directory });
  assert.equal(code, 1);
  assert.match(stderr, /ECONNREFUSED/u);
});
