import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { callers, directory, hash, load, only, problemsOf } from './load-config.test-support.ts';
import { ConfigError, formatConfigProblem, type LoadedConfig, loadConfig } from './load-config.ts';

test('every section but access has its documented default', async (t) => {
  const { config, warnings, cwd } = await load(t, callers);
  assert.deepEqual(warnings, []);
  assert.deepEqual(config, {
    server: {
      host: '127.0.0.1',
      port: 3000,
      requestBodyLimit: 10_485_760,
      openMetrics: false,
      console: true,
      trustedProxies: [],
      drain: 30_000,
      logLevel: 'info',
    },
    store: { kind: 'sqlite', file: join(cwd, 'data/gateway.db'), startTimeout: 60_000 },
    access: {
      tokenLifetime: 3_600_000,
      users: [{ username: 'admin', passwordHash: hash, roles: ['admin'], groups: [] }],
      clients: [],
      oidc: [],
      roles: [],
      groupRoles: {},
      persons: {},
      blocked: [],
    },
    outbound: {
      allow: [],
      deny: [],
      timeouts: { dns: 3000, connect: 5000, firstByte: 30_000, idle: 15_000, total: 30_000 },
      responseLimit: 67_108_864,
      redirects: 5,
    },
    adapters: [],
    audit: {
      retention: 7_776_000_000,
      maxSize: 1_073_741_824,
      bodies: 'changes',
      bodiesMaxSize: 1_073_741_824,
      mask: ['password', 'passphrase', 'secret', 'community', 'token', 'key-string'],
    },
    automations: {
      tasks: 32,
      retention: 2_592_000_000,
      storePerPerson: 2_147_483_648,
      taskData: true,
      afterLoss: 'hold',
      secrets: {},
    },
    approvals: [],
    notifications: [],
    mcp: { enabled: false, readOnly: true, metadata: true },
  });
});

test('an adapter needs a name, a kind and an address; its other keys have the documented defaults', async (t) => {
  const { config } = await load(t, `${callers}adapters: [{ name: Local NSO, kind: nso, url: "http://127.0.0.1:8080/base" }]`);
  assert.deepEqual(config.adapters, [
    {
      name: 'Local NSO',
      kind: 'nso',
      urls: ['http://127.0.0.1:8080/base'],
      auth: { type: 'none' },
      timeouts: { dns: 3000, connect: 5000, firstByte: 300_000, idle: 60_000, total: 300_000 },
      responseLimit: 1_073_741_824,
      concurrency: 16,
      queue: 1000,
      health: { interval: 30_000 },
      breaker: { failures: 5, openFor: 10_000 },
      allowPaths: { actions: ['**'], queries: ['**'] },
      denyPaths: { actions: [], queries: [] },
      stamp: false,
    },
  ]);
});

test('each key of the file replaces its default', async (t) => {
  const { config } = await load(
    t,
    `${callers}server: { host: "::1", port: 0, logLevel: debug, trustedProxies: [10.0.0.0/8, "fd00::1"] }
store: { url: "postgres://u@db.example.net/gateway" }
outbound: { allow: [10.0.0.0/8, "*.lab.example.net", "127.0.0.1:9000", "[::1]:9000", "[fd00::/8]:443", api], timeouts: { total: 5m } }
adapters:
  - name: A
    kind: rest
    urls: [https://a.example.net]
    health: off
    allowPaths: { actions: [operations/**] }
`,
  );
  assert.equal(config.server.host, '::1');
  assert.deepEqual(config.outbound.timeouts, { dns: 3000, connect: 5000, firstByte: 30_000, idle: 15_000, total: 300_000 });
  assert.equal(config.adapters[0]?.health, 'off');
  assert.deepEqual(config.adapters[0]?.allowPaths, { actions: ['operations/**'], queries: ['**'] });
  assert.equal(config.store.kind === 'postgres' && config.store.url.reveal(), 'postgres://u@db.example.net/gateway');
});

test('the configuration is deeply frozen', async (t) => {
  const { config } = await load(t, `${callers}adapters: [{ name: A, kind: rest, url: "http://a" }]`);
  const thawed: unknown[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Object.isFrozen(value)) thawed.push(value);
    for (const member of Object.values(value)) visit(member);
  };
  visit(config);
  assert.deepEqual(thawed, []);
});

test('a ConfigError has every problem in the order of the file, with line and column', async (t) => {
  const problems = await problemsOf(
    t,
    `servr: {}
server: { port: "80", hots: a }
access:
  tokenLifetime: 300
  users: [{ username: "a:b", passwordHash: hunter2, roles: [admn] }]
adapters:
  - name: A
    kind: nso
    url: http://a
    timeouts: { total: "5 minutes" }
`,
  );
  assert.deepEqual(problems, [
    'gateway.yaml:1:1: servr: is unknown; did you mean "server"?',
    'gateway.yaml:2:17: server.port: is text; write a whole number, 0 to 65535; take the quotes away',
    'gateway.yaml:2:23: server.hots: is unknown; did you mean "host"?',
    'gateway.yaml:4:18: access.tokenLifetime: 300 has no unit; write e.g. 300s (units ms, s, m, h and d)',
    'gateway.yaml:5:23: access.users[0].username: holds a colon, which HTTP Basic does not allow',
    'gateway.yaml:5:44: access.users[0].passwordHash: is no argon2id hash; make one with the command hash-password (and quote it inside { })',
    'gateway.yaml:5:61: access.users[0].roles[0]: "admn" is unknown here; write one of admin, engineering, other, readonly and apiread; did you mean "admin"?',
    'gateway.yaml:10:24: adapters[0].timeouts.total: "5 minutes" is no duration; write e.g. 300s (units ms, s, m, h and d)',
  ]);
});

test('a file without access, an empty file and a missing file each have a problem that says so', async (t) => {
  await only(t, 'server: {}', /^gateway\.yaml:1:1: access: is required and missing/u);
  await only(t, '# nothing\n', /the file is empty/u);
  await only(t, 'hello', /^gateway\.yaml:1:1: is text; write a mapping of server, store, vault, access/u);
  await assert.rejects(loadConfig({ file: 'gateway.yaml', env: {}, cwd: await directory(t) }), /gateway\.yaml does not exist/u);
  const cwd = await directory(t);
  await mkdir(join(cwd, 'gateway.yaml'));
  await assert.rejects(loadConfig({ file: 'gateway.yaml', env: {}, cwd }), ConfigError);
});

test('a value of a wrong type is a problem that names the right type, and is not converted', async (t) => {
  await only(t, `${callers}server: { openMetrics: "true" }`, /is text; write true or false, without quotes/u);
  await only(t, `${callers}server: { openMetrics: yes }`, /is text; write true or false/u);
  await only(t, `${callers}server: { port: 80.5 }`, /80\.5 is out of range/u);
  await only(
    t,
    `${callers}server: { port: "3100" }`,
    /server\.port: is text; write a whole number, 0 to 65535; take the quotes away/u,
  );
  await only(t, `${callers}server: { port: 65536 }`, /65536 is out of range/u);
  await only(t, `${callers}server: { host: }`, /is empty; write text, e\.g\. 127\.0\.0\.1, or remove the key/u);
  await only(t, `${callers}server: []`, /server: is a list; write a mapping of host, port/u);
  await only(t, `${callers}adapters: {}`, /adapters: is a mapping; write a list/u);
  await only(
    t,
    `${callers}adapters: [{ name: 7, kind: rest, url: "http://a" }]`,
    /is a number; write text, e\.g\. Local NSO, in quotes/u,
  );
  await only(
    t,
    `${callers}adapters: [{ name: A, kind: rest, url: "http://a", health: false }]`,
    /neither \{ interval: 30s \} nor off/u,
  );
});

test('a duration or size needs a unit and must be above zero and within its limit', async (t) => {
  for (const [value, expected] of [
    ['0s', /too small/u],
    ['-1s', /no duration/u],
    ['1.5s', /no duration/u],
    ['1 s', /no duration/u],
    ['1S', /no duration/u],
    ['99999999999999999999s', /no duration/u],
    ['2d', /too large; write at most 1d/u],
  ] as const) {
    await only(t, `${callers}outbound: { timeouts: { total: ${value} } }`, expected);
  }
  await only(t, `${callers}outbound: { responseLimit: 10MB }`, /"10MB" is no size; write e\.g\. 10MiB/u);
  await only(t, `${callers}outbound: { responseLimit: 1024 }`, /1024 has no unit/u);
  const { config } = await load(
    t,
    `${callers}outbound: { timeouts: { dns: 500ms, total: 1h }, responseLimit: 3KiB }\naudit: { retention: 10d, maxSize: 10GiB }`,
  );
  const { timeouts, responseLimit } = config.outbound;
  const { retention, maxSize } = config.audit;
  assert.deepEqual(
    [timeouts.dns, timeouts.total, responseLimit, retention, maxSize],
    [500, 3_600_000, 3072, 864_000_000, 10_737_418_240],
  );
  for (const [value, expected] of [
    ['10GB', /audit\.maxSize: "10GB" is no size; write e\.g\. 10MiB/u],
    ['1048577GiB', /audit\.maxSize: .*too large; write at most 1048576GiB/u],
    ['0MiB', /audit\.maxSize: .*too small/u],
  ] as const) {
    await only(t, `${callers}audit: { maxSize: ${value} }`, expected);
  }
});

test('a principal needs a unique name, a hash and known roles', async (t) => {
  const twice = `access:\n  users:\n    - &u { username: x, passwordHash: '${hash}', roles: [] }\n    - *u\n`;
  await only(t, twice, /access\.users\[1\]\.username: is the same as access\.users\[0\]\.username/u);
  await only(
    t,
    `${callers}  clients:\n    - { clientId: admin, secretHash: '${hash}', roles: [apiread] }\n`,
    /access\.clients\[0\]\.clientId: is also the user name of access\.users\[0\]/u,
  );
  await only(t, callers.replace('argon2id', 'argon2i'), /is no argon2id hash; .*hash-password/u);
  await only(t, callers.replace('m=19456', 'm=9999999'), /is no argon2id hash/u);
  await only(t, callers.replace('roles: [admin]', 'roles: [admin, admin]'), /roles\[1\]: is the same as/u);
  const { warnings } = await load(t, 'access: {}');
  assert.match(warnings.map(formatConfigProblem).join(), /no caller can authenticate/u);
});

test('an issuer allows asymmetric algorithms only', async (t) => {
  const issuer = (more: string): string => `${callers}  oidc: [{ issuer: "https://login.example.net/x", audience: gw${more} }]`;
  const { config } = await load(t, issuer(''));
  assert.deepEqual(config.access.oidc[0], {
    issuer: 'https://login.example.net/x',
    audience: 'gw',
    rolesClaim: 'roles',
    groupsClaim: 'groups',
    algorithms: ['RS256', 'ES256', 'EdDSA'],
    remember: 30 * 86_400_000,
  });
  assert.equal((await load(t, issuer(', remember: 0'))).config.access.oidc[0]?.remember, 0);
  await only(t, issuer(', remember: 1'), /has no unit/u);
  await only(t, issuer(', algorithms: [HS256]'), /"HS256" is unknown here/u);
  await only(t, issuer(', algorithms: [none]'), /"none" is unknown here/u);
  await only(t, issuer(', algorithms: []'), /needs at least 1 entry/u);
});

test('an adapter needs exactly one of url and urls, as plain http or https addresses', async (t) => {
  const adapter = (more: string): string => `${callers}adapters: [{ name: A, kind: nso, ${more} }]`;
  await only(t, adapter('auth: { type: none }'), /adapters\[0\]\.url: is missing/u);
  await only(t, adapter('url: "http://a", urls: ["http://b"]'), /urls: cannot be used together with url/u);
  await only(t, adapter('urls: []'), /needs at least 1 entry/u);
  for (const url of [
    'ftp://a',
    'a.example.net',
    'http:///x',
    'http://a b',
    'http://a:99999',
    'http://a/../b',
    'http://a/%2E%2e',
    'http://a\\b',
  ]) {
    assert.equal((await problemsOf(t, adapter(`url: '${url}'`))).length, 1, url);
  }
  await only(t, adapter('url: "http://u:p@a"'), /holds a user name or password/u);
  await only(t, adapter('url: "http://a?x"'), /has a query/u);
  await only(t, adapter('url: "http://a#x"'), /has a fragment/u);
  await only(t, adapter('url: "http://a", proxy: { url: "http://p/x" }'), /proxy\.url: has a path/u);
  await only(t, adapter('url: "http://a", allowPaths: { queries: ["a?b"] }'), /queries\[0\]: has a "\?"/u);
  await only(
    t,
    adapter('url: "http://a" }, { name: A, kind: nso, url: "http://b"'),
    /adapters\[1\]\.name: is the same as adapters\[0\]\.name/u,
  );
});

test('an entry of allowPaths that opens another interface of NSO is a warning', async (t) => {
  const paths = 'allowPaths: { actions: ["**", mcp/info, /jsonrpc], queries: ["webui/**", "*/x"] }';
  const yaml = (kind: string): string =>
    `${callers}adapters:\n  - { name: x, kind: ${kind}, url: "https://nso.example.net", ${paths} }\n`;
  const warnings = (await load(t, yaml('nso'))).warnings.map(formatConfigProblem);
  assert.deepEqual(
    warnings.map((warning) => /(\w+\[\d\]): opens (\w+), another interface of nso/u.exec(warning)?.slice(1)),
    [
      ['actions[1]', 'mcp'],
      ['actions[2]', 'jsonrpc'],
      ['queries[0]', 'webui'],
    ],
  );
  assert.deepEqual((await load(t, yaml('restconf'))).warnings, []);
});

test('auth allows the keys of its type and no others', async (t) => {
  const auth = (text: string): string => `${callers}adapters: [{ name: A, kind: nso, url: "http://a", auth: ${text} }]`;
  const env = { P: 'pass word', T: 'abc.def==' };
  const { config } = await load(t, auth('{ type: basic, username: gw, password: { env: P } }'), { env });
  const { auth: basic } = config.adapters[0] ?? {};
  assert.equal(basic?.type === 'basic' && basic.password.reveal(), 'pass word');
  assert.deepEqual(await problemsOf(t, auth('{ type: bearer, token: { env: T } }'), { env }), []);
  assert.deepEqual(await problemsOf(t, auth('{ type: header, name: X-Key, value: { env: P } }'), { env }), []);
  await only(t, auth('{ username: x }'), /auth\.type: is missing; write one of none, basic/u);
  await only(t, auth('{ type: Basic, username: x }'), /"Basic" is unknown here.*did you mean "basic"/u);
  await only(t, auth('{ type: constructor }'), /"constructor" is unknown here/u);
  await only(t, auth('{ type: none, username: x }'), /auth\.username: is unknown; known here are type/u);
  await only(t, auth('{ type: basic, username: x }'), /auth\.password: is required and missing/u);
  await only(t, auth('{ type: bearer, token: { env: P } }'), /is no bearer token/u, { env });
  for (const name of ['Host', 'Accept', 'user-agent', 'If-Match', 'traceparent'])
    await only(t, auth(`{ type: header, name: ${name}, value: { env: P } }`), /the gateway itself sets or forwards/u, { env });
  await only(t, auth('{ type: header, name: "X Y", value: { env: P } }'), /is no header name/u, { env });
});

test('a secret comes from the environment, from a file without its final newline, or from plain text with a warning', async (t) => {
  const password = (text: string): string =>
    `${callers}adapters: [{ name: A, kind: nso, url: "http://a", auth: { type: basic, username: gw, password: ${text} } }]`;
  const revealed = ({ config }: LoadedConfig): string => {
    const { auth } = config.adapters[0] ?? {};
    return auth?.type === 'basic' ? auth.password.reveal() : '';
  };
  assert.equal(revealed(await load(t, password('{ env: NSO }'), { env: { NSO: 'a' } })), 'a');
  for (const [content, expected] of [
    ['b\n', 'b'],
    ['b\r\n', 'b'],
    ['b', 'b'],
    [' b ', ' b '],
  ] as const) {
    assert.equal(revealed(await load(t, password('{ file: p }'), { files: { p: content } })), expected);
  }
  const plain = await load(t, password('c'));
  assert.equal(revealed(plain), 'c');
  assert.deepEqual(plain.warnings.map(formatConfigProblem), [
    'gateway.yaml:4:96: adapters[0].auth.password: is plain text in the file; write { env: NAME }, { file: PATH }, { credential: NAME }, { exec: [PROGRAM] } or { vault: PATH, key: NAME }',
  ]);
  for (const variable of ['"$NSO_PW"', '"${NSO_PW}"']) {
    const [warning] = (await load(t, password(variable))).warnings.map(formatConfigProblem);
    assert.match(warning ?? '', /looks like a variable, which the gateway does not replace; write \{ env: NSO_PW \}/u);
  }
  await only(t, password('{ env: NSO }'), /environment variable NSO is not set/u);
  await only(t, password('{ env: toString }'), /environment variable toString is not set/u);
  await only(t, password('{ env: NSO }'), /password: is empty/u, { env: { NSO: '' } });
  await only(t, password('{ env: NSO }'), /password: holds a control character/u, { env: { NSO: 'a\nb' } });
  await only(t, password('{ file: p }'), /password\.file: the file .*\/p does not exist/u);
  await only(t, password('{ file: . }'), /is no regular file/u);
  await only(t, password('{ file: p }'), /is not UTF-8 text/u, { files: { p: Buffer.from([0xff]) } });
  await only(t, password('{ file: p }'), /is larger than 65536 bytes/u, { files: { p: 'x'.repeat(65_537) } });
  await only(t, password('{ env: NSO, file: p }'), /write exactly/u);
  await only(
    t,
    password('7'),
    /is a number; write \{ env: NAME \}, .* or \{ vault: PATH, key: NAME \}, or put the text in quotes/u,
  );
});

test('no problem and no warning holds any part of a secret, in any place and with any typing error', async (t) => {
  const secret = 'hunter2swordfish';
  const basic = (text: string): string =>
    `${callers}adapters: [{ name: A, kind: nso, url: "http://a", auth: { type: basic, username: gw, ${text} } }]`;
  const bearer = (text: string): string =>
    `${callers}adapters: [{ name: A, kind: nso, url: "http://a", auth: { type: bearer, ${text} } }]`;
  const texts = [
    basic(`password: ${secret}`),
    basic(`password: *${secret}`),
    basic(`password: !${secret} x`),
    basic(`password: &${secret} { env: NONE }`),
    basic(`password: "${secret}\\u0000"`),
    basic(`password: "${secret}\\q"`),
    basic(`password: "${secret}`),
    basic(`password: @${secret}`),
    basic(`password: { ${secret} }`),
    basic(`password: { env: "${secret} x" }`),
    basic(`password: [${secret}]`),
    basic(`password, ${secret}`),
    basic(secret),
    bearer(`token: ${secret} x`),
    bearer(`token: ${secret}: x`),
    callers.replace(hash, secret),
    `${callers}adapters: [{ name: A, kind: nso, url: "http://gw:${secret}@a b" }]`,
    `${callers}outbound: { allow: ["http://gw:${secret}@a"], proxy: { url: "http://gw:${secret}@p:1" } }`,
    `${callers}store: { url: "postgres://u:${secret}@h" }`,
    `${callers}store: { url: "postgres://u:${secret}@h/d" }`,
    `${callers}store: { url: "mysql://u:${secret}@h/d" }`,
  ];
  for (const text of texts) {
    const shown = await load(t, text).then(
      ({ config, warnings }) =>
        `${inspect(config, { depth: 9, showHidden: true })} ${JSON.stringify(config)} ${JSON.stringify(warnings)}`,
      (error: unknown) =>
        error instanceof ConfigError ? `${inspect(error)} ${JSON.stringify([error.problems, error.warnings])}` : 'unexpected',
    );
    assert.ok(!shown.includes(secret) && shown !== 'unexpected', shown);
  }
});

test('the store is a PostgreSQL URL, or a file with a path that is absolute or relative to the configuration', async (t) => {
  const store = (url: string): string => `${callers}store: { url: ${url} }`;
  const { config } = await load(t, store('"sqlite:/var/lib/gateway.db"'));
  assert.deepEqual(config.store, { kind: 'sqlite', file: '/var/lib/gateway.db', startTimeout: 60_000 });
  const relative = await load(t, store('sqlite:gateway.db'));
  assert.deepEqual(relative.config.store, { kind: 'sqlite', file: join(relative.cwd, 'gateway.db'), startTimeout: 60_000 });
  const fromEnv = await load(t, store('{ env: DATABASE_URL }'), { env: { DATABASE_URL: 'postgresql://u:pw@h/d' } });
  assert.equal(fromEnv.config.store.kind === 'postgres' && fromEnv.config.store.url.reveal(), 'postgresql://u:pw@h/d');
  assert.deepEqual(fromEnv.warnings, []);
  assert.match((await load(t, store('"postgres://u:pw@h/d"'))).warnings[0]?.message ?? '', /password in plain text/u);
  for (const url of [
    '"sqlite:"',
    '"sqlite::memory:"',
    '"sqlite:./a?mode=ro"',
    '"sqlite://host/a"',
    '"postgres://h"',
    '"postgres://h:x/d"',
    '"mysql://h/d"',
    '"./a.db"',
  ]) {
    assert.equal((await problemsOf(t, store(url))).length, 1, url);
  }
});

test('a PostgreSQL URL may name several hosts, and check-config says what is wrong with the list', async (t) => {
  const secret = 'hunter2';
  const store = (rest: string): string => `${callers}store: { url: "postgres://u:${secret}@${rest}" }`;
  for (const rest of [
    'h1:5432,h2:5433/d?target_session_attrs=read-write',
    'h1,h2,h3/d',
    '[fd00::1]:5432,10.0.0.1:5432/d?sslmode=verify-full',
    '%2Fvar%2Frun%2Fpostgresql/d',
    'h/d?host=/var/run/postgresql',
  ]) {
    const { config, warnings } = await load(t, store(rest));
    assert.equal(config.store.kind, 'postgres', rest);
    assert.match(warnings[0]?.message ?? '', /password in plain text/u);
  }
  const without = await load(t, `${callers}store: { url: "postgres://u@h1,h2/d" }`);
  assert.deepEqual(without.warnings, []);
  const faults: readonly (readonly [rest: string, said: RegExp])[] = [
    ['h1:5432,h2/d', /a port for some of its hosts only/u],
    ['h1,,h2/d', /an empty host/u],
    ['h1:5432,:5433/d', /an empty host/u],
    ['h1:x,h2:5432/d', /a port that is no number/u],
    ['h1:5432,h2:65536/d', /a port that is no number/u],
    ['fd00::1,h2/d', /IPv6 address without brackets/u],
    ['fd00::1/d', /IPv6 address without brackets/u],
    ['[fd00::g]:5432,h2:5432/d', /no valid PostgreSQL URL/u],
    ['%2Fvar%2Frun%2Fpostgresql,h2/d', /a Unix socket/u],
    ['h1,h2/d?host=h3', /several hosts, and host/u],
    ['h1,h2/d?port=5432,5433', /several hosts, and host/u],
    ['h1,h2/d?target_session_attrs=any', /another target_session_attrs than read-write/u],
    ['h1/d?target_session_attrs=standby', /another target_session_attrs than read-write/u],
    ['h1,h2/d?target_session_attrs=', /another target_session_attrs than read-write/u],
    ['h1,h2', /names no database/u],
  ];
  for (const [rest, said] of faults) {
    const [problem, ...others] = await problemsOf(t, store(rest));
    assert.match(problem ?? '', said, rest);
    assert.doesNotMatch(JSON.stringify([problem, others]), new RegExp(secret, 'u'));
  }
});

test('an outbound rule is a host, a suffix, an address or a CIDR, with an optional port', async (t) => {
  const allow = (rule: string): string => `${callers}outbound: { allow: [${JSON.stringify(rule)}] }`;
  const good = [
    'example.net',
    'a_b.example.net.',
    '*.example.net:8443',
    '10.0.0.1',
    '10.0.0.1:80',
    '10.0.0.0/8',
    '0.0.0.0/0',
    '10.0.0.0/8:443',
  ];
  for (const rule of [
    ...good,
    '::/0',
    'fd00::1',
    '[fd00::1]',
    '[fd00::1]:443',
    '[fd00::/8]:443',
    '::ffff:10.0.0.1',
    'localhost:9000',
    'xn--bcher-kva.example',
    'bücher.example',
  ]) {
    assert.deepEqual(await problemsOf(t, allow(rule)), [], rule);
  }
  const bad = [
    '',
    '*',
    'a*b',
    '*.',
    '*.*.a',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '010.0.0.1',
    '10.1',
    '0x7f.1',
    '1.2.3.4.5',
    'fd00::1/8',
  ];
  for (const rule of [
    ...bad,
    'fe80::1%eth0',
    '[::1',
    '[::1]:',
    '[::1]:0',
    'a:',
    'a:65536',
    'a:http',
    'http://a',
    'a/b',
    'a b',
    '-a',
    'a..b',
    'u@h',
  ]) {
    assert.equal((await problemsOf(t, allow(rule))).length, 1, rule);
  }
  await only(t, allow('10.1.2.3/8'), /outbound\.allow\[0\]: "10\.1\.2\.3\/8" has host bits set; write 10\.0\.0\.0\/8/u);
  await only(t, allow('10.1'), /would be read as the address 10\.0\.0\.1/u);
});

test('addresses and host names of the server follow the same grammar as outbound rules', async (t) => {
  const server = (text: string): string => `${callers}server: { ${text} }\n`;
  assert.deepEqual(await problemsOf(t, server('host: "::1", trustedProxies: [10.0.0.0/8, "fd00::/8", 192.0.2.1]')), []);
  await only(
    t,
    server('trustedProxies: [10.1.2.3/8]'),
    /trustedProxies\[0\]: "10\.1\.2\.3\/8" has host bits set; write 10\.0\.0\.0\/8/u,
  );
  await only(t, server('trustedProxies: [proxy.example.net]'), /"proxy\.example\.net" is no address or CIDR/u);
  await only(t, server('host: "10.1"'), /would be read as the address 10\.0\.0\.1/u);
  await only(t, server('host: bücher.example'), /server\.host: is not in ASCII; write xn--bcher-kva\.example/u);
  await only(t, server('host: a..b'), /empty label/u);
});

test('dot segments are refused in the path of a URL, and allowed in its query', async (t) => {
  const auth = (tokenUrl: string): string =>
    `${callers}adapters:\n  - name: a\n    kind: rest\n    url: https://a.example\n    auth: { type: oauth2, tokenUrl: ${JSON.stringify(tokenUrl)}, clientId: c, clientSecret: { env: S } }\n`;
  const given = { env: { S: 'secret' } };
  assert.deepEqual(await problemsOf(t, auth('https://login.example/token?next=/a/../b'), given), []);
  await only(t, auth('https://login.example/a/..?b=c'), /tokenUrl: has "\." or "\.\." segments/u, given);
});

const sealed = `workflows: ["noc.*"], writers: { roles: [admin] }, destinations: ["https://tickets.example.net/api/"]`;

test('automations have tasks, a retention of at least an hour, and secrets by name', async (t) => {
  const secret = `nso-login: { value: { env: LOGIN }, ${sealed} }`;
  const { config } = await load(t, `${callers}automations: { tasks: 0, retention: 1h, secrets: { ${secret} } }`, {
    env: { LOGIN: 'hush' },
  });
  const { tasks, retention, secrets } = config.automations;
  const { value, ...rule } = secrets['nso-login'] ?? {};
  assert.deepEqual([tasks, retention, value?.reveal()], [0, 3_600_000, 'hush']);
  assert.deepEqual(rule, {
    workflows: ['noc.*'],
    writers: { roles: ['admin'], groups: [] },
    destinations: ['https://tickets.example.net/api/'],
    adapters: [],
    places: ['authentication', 'header:authorization'],
  });
  await only(t, `${callers}automations: { retention: 59m }`, /automations\.retention: .*at least 1h/u);
  for (const [secretsText, problem] of [
    ['1x: { env: A }', /automations\.secrets: holds a name that no secret can have/u],
    [`a: { value: { env: NOT_SET }, ${sealed} }`, /automations\.secrets\.a\.value\.env: .*NOT_SET is not set/u],
  ] as const)
    await only(t, `${callers}automations: { secrets: { ${secretsText} } }`, problem);
  await only(t, `${callers}automations: { secrets: [] }`, /automations\.secrets: .*mapping of names to secrets/u);
});

test('a secret in the form of an earlier version is a problem, which shows the new form', async (t) => {
  for (const old of ['{ env: LOGIN }', '{ file: /run/secrets/login }', '"hush"'])
    await only(
      t,
      `${callers}automations: { secrets: { a: ${old} } }`,
      /automations\.secrets\.a: .*earlier version.*\{ value: \{ env: TICKET_TOKEN \}, workflows: \["noc\.\*"\], writers: .* destinations: /u,
    );
});

test('a secret goes to https addresses, to loopback ones, and to adapter instances that exist', async (t) => {
  const secret = (more: string): string =>
    `${callers}automations: { secrets: { a: { value: { env: A }, workflows: ["*"], writers: { roles: [admin] }, ${more} } } }`;
  const env = { A: 'hush' };
  for (const address of ['https://a.example/', 'http://127.0.0.1:8080/x/', 'http://[::1]/', 'http://localhost/'])
    await load(t, secret(`destinations: ["${address}"]`), { env });
  for (const [more, problem] of [
    ['destinations: ["http://a.example/"]', /destinations\[0\]: .*plain text/u],
    ['destinations: ["https://a.example/?q"]', /destinations\[0\]: .*without query/u],
    ['destinations: ["https://u@a.example/"]', /destinations\[0\]: /u],
    ['destinations: ["https://a.example/a/../b"]', /destinations\[0\]: .*dots/u],
    ['destinations: ["https://a.example/*"]', /destinations\[0\]: /u],
    ['destinations: [], adapters: [Nowhere]', /adapters\[0\]: is no adapter instance/u],
    ['destinations: ["https://a.example/"], places: [cookie]', /places\[0\]: .*no place/u],
  ] as const)
    await only(t, secret(more), problem, { env });
  const { warnings } = await load(t, secret('destinations: []'), { env });
  assert.match(warnings.map(({ message }) => message).join(), /no call can carry the secret/u);
});
