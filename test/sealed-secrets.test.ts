import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { before, beforeEach, test } from 'node:test';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { type Gateway, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { type FarRequest, httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// Section 20 of the contract, from outside. The author of the workflows wants the values. This person may store any document, has a server,
// and reads what is posted at the ticket system.

const token = 'c4n4ry-token-of-the-ticket-system';
const key = 'c4n4ry key/of+the "ticket" <system> & more é';
const login = JSON.stringify({ username: 'noc', password: 'c4n4ry-password', pin: 18446744073709551615n }, (_name, value) =>
  typeof value === 'bigint' ? JSON.rawJSON(String(value)) : (value as unknown),
);
const pair = 'noc:c4n4ry:of a pair';
const values = [token, key, 'c4n4ry-password', '18446744073709551615', 'c4n4ry:of a pair'];
const authorization = 'https://serverlessworkflow.io/spec/1.0.0/errors/authorization';
const altered = 'urn:orchestration-gateway:errors:secret-altered';

const owner = suiteOwner();
let tickets: Upstream;
let own: Upstream;
let gateway: Gateway;
let options: Parameters<typeof startGateway>[1] & object;

const as = (name: string): string => `Basic ${Buffer.from(`${name}:${testPassword}`).toString('base64')}`;
const sealed = (value: object | string, rule: object): object => ({
  value,
  workflows: ['noc.*'],
  writers: { groups: ['noc-authors'] },
  destinations: [`${tickets.url}/api/`],
  ...rule,
});

before(async () => {
  tickets = await upstream(owner);
  own = await upstream(owner);
  const everywhere = { places: ['authentication', 'header:X-Api-Key', 'query', 'path', 'body'], adapters: ['Tickets'] };
  options = {
    adapters: ['Tickets', 'Other'].map((name) => ({ name, kind: 'rest', url: tickets.url, auth: { type: 'none' } })),
    users: ['ada', 'mallory'].map((username) => ({
      username,
      passwordHash: testPasswordHash,
      roles: ['admin'],
      groups: username === 'ada' ? ['noc-authors'] : [],
    })),
    config: {
      outbound: { allow: [tickets.authority, own.authority] },
      automations: {
        secrets: {
          token: sealed({ env: 'TOKEN' }, {}),
          key: sealed({ env: 'KEY' }, everywhere),
          login: sealed({ env: 'LOGIN' }, everywhere),
          pair: sealed({ env: 'PAIR' }, {}),
          basic: sealed({ env: 'PAIR' }, { places: ['authentication'] }),
        },
      },
    },
    environment: { TOKEN: token, KEY: key, LOGIN: login, PAIR: pair },
  };
  gateway = await startGateway(owner, options);
});
beforeEach(() => {
  for (const far of [tickets, own]) far.answer(() => jsonReply('{"ok":true}'));
});

const send = (user: string, method: string, target: string, body?: object | string): Promise<Reply> =>
  gateway.send({
    method,
    target,
    headers: { authorization: as(user), 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });

let count = 0;
const documentOf = (
  tasks: readonly TaskDocument[],
  { namespace = 'noc', use = ['token', 'key', 'login', 'pair', 'basic'] } = {},
) => {
  count += 1;
  return {
    document: { dsl: '1.0.3', namespace, name: `w${count}`, version: '1.0.0' },
    use: { secrets: use },
    do: tasks,
  };
};

/** Stores a workflow and its automation as ada; answers the `_id`. */
async function stored(tasks: readonly TaskDocument[]): Promise<string> {
  const document = documentOf(tasks);
  const reply = await send('ada', 'POST', '/automation_catalog/workflows', document);
  assert.equal(reply.status, 201, reply.text);
  const { name } = document.document;
  const made = await send('ada', 'POST', '/automation_catalog/automations', { name, data: { workflowId: `noc.${name}` } });
  assert.equal(made.status, 201, made.text);
  return (made.json() as { readonly _id: string })._id;
}

async function ended(tasks: readonly TaskDocument[], input: object = {}): Promise<SeenRun> {
  const runs = runCaller(() => gateway, as('ada'));
  const { id } = await runs.start(await stored(tasks), { input });
  const run = await runs.reaches(id, 'completed', 'faulted', 'suspended');
  for (const target of ['', '/tasks', '/calls', '/events']) {
    const { text } = await send('ada', 'GET', `/runs/${id}${target}`);
    assert.deepEqual(secretsIn(text), [], text);
  }
  return run;
}

/** Runs the tasks one by one, and answers the error of each. */
async function errorsOf(tasks: readonly TaskDocument[]): Promise<readonly (SeenRun['error'] | undefined)[]> {
  const caught = tasks.map((task, index): TaskDocument => {
    const note = { note: { set: jq(`{ "${index}": $error }`), export: { as: jq('($context // {}) + .') } } };
    return { [`a${index}`]: { try: [task], catch: { do: [note] } } };
  });
  const run = await ended([...caught, { all: { set: jq('$context') } }]);
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  const found = run.output as Readonly<Record<string, NonNullable<SeenRun['error']>>>;
  return tasks.map((_task, index) => found[String(index)]);
}

const secretsIn = (text: string): readonly string[] => values.filter((value) => text.includes(value));

const http = (method: string, endpoint: object | string, more: object = {}): TaskDocument => ({
  ask: { call: 'http', with: { method, endpoint, ...more } },
});
const jq = (text: string): string => `\${ ${text} }`;
const heard = ({ head, body }: FarRequest): string => `${head}\n${body.toString()}`;

test('a secret arrives at its destination in each place that it may have, encoded for the place', async () => {
  const at = (path: string): string => `${tickets.url}/api/${path}`;
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const all = http('post', jq(`"${at('k/')}" + $secrets.key + "?k=" + $secrets.key`), {
    headers: { 'X-Api-Key': jq('"v1." + $secrets.login.password') },
    body: { k: jq('"<" + $secrets.key + ">"'), pin: jq('$secrets.login.pin'), n: 1.5 },
  });
  const run = await ended(
    [
      [all],
      [http('post', at('form'), { headers: form, body: { k: jq('$secrets.key') } })],
      [http('post', at('xml'), { headers: { 'Content-Type': 'application/xml' }, body: { r: { k: jq('$secrets.key') } } })],
      [http('get', { uri: at('bearer'), authentication: { bearer: { use: 'token' } } })],
      [http('get', { uri: at('basic'), authentication: { basic: { use: 'basic' } } })],
      [http('get', { uri: at('object'), authentication: { basic: { use: 'login' } } })],
      [http('get', at('header'), { headers: { Authorization: jq('"Token " + $secrets.token') } })],
      [{ ask: { call: 'restCall', with: { uri: at('rest'), verb: 'GET', user: 'x', password: jq('$secrets.token') } } }],
      [
        {
          ask: {
            call: 'orchestratorAction',
            with: {
              adapter: 'Tickets',
              params: { path: 'api/act', accept: 'application/json' },
              body: { k: jq('$secrets.key') },
            },
          },
        },
      ],
    ].flatMap((tasks, index) => tasks.map((task) => ({ [`t${index}`]: Object.values(task)[0] ?? {} }))),
  );
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  const requestOf = (part: string): FarRequest => {
    const found = tickets.requests.find(({ target }) => target.includes(part));
    assert.ok(found, part);
    return found;
  };
  const encoded = encodeURIComponent(key);
  const inAll = requestOf('/api/k/');
  assert.equal(inAll.target, `/api/k/${encoded}?k=${encoded}`);
  assert.deepEqual(JSON.parse(inAll.body.toString()), { k: `<${key}>`, pin: '18446744073709551615', n: 1.5 });
  assert.equal(inAll.header('x-api-key'), 'v1.c4n4ry-password');
  assert.equal(new URLSearchParams(requestOf('/form').body.toString()).get('k'), key);
  assert.match(requestOf('/xml').body.toString(), /<k>c4n4ry key\/of\+the "ticket" &lt;system(?:>|&gt;) &amp; more é<\/k>/u);
  assert.equal(requestOf('/bearer').header('authorization'), `Bearer ${token}`);
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
  assert.equal(requestOf('/basic').header('authorization'), basic(pair));
  assert.equal(requestOf('/object').header('authorization'), basic('noc:c4n4ry-password'));
  assert.equal(requestOf('/header').header('authorization'), `Token ${token}`);
  assert.equal(requestOf('/rest').header('authorization'), basic(`x:${token}`));
  assert.deepEqual(JSON.parse(requestOf('/act').body.toString()), { k: key });
});

test('a secret goes to no other destination and into no other place, and nothing of such a call leaves', async () => {
  const bearer = { authentication: { bearer: { token: jq('$secrets.token') } } };
  const at = (uri: string): TaskDocument => http('get', { uri, ...bearer });
  const api = `${tickets.url}/api`;
  const adapter = (name: string): TaskDocument => ({
    ask: {
      call: 'orchestratorAction',
      with: { adapter: name, params: { path: 'api/act', accept: 'application/json' }, body: { k: jq('$secrets.key') } },
    },
  });
  const attacks: readonly (readonly [what: string, task: TaskDocument, detail: RegExp])[] = [
    [
      'his own server',
      at(`${own.url}/api/`),
      /"token" does not have this destination: the authentication of a call to http:.*\/api\//u,
    ],
    [
      'his server in a header',
      http('get', `${own.url}/api/`, { headers: { Authorization: jq('$secrets.token') } }),
      /header authorization/u,
    ],
    ['another path', at(`${tickets.url}/admin`), /destination/u],
    ['a path that only begins so', at(`${tickets.url}/apiary`), /destination/u],
    ['dots', at(`${api}/x/%2e%2e/%2e%2e/admin`), /destination/u],
    ['encoded dots', at(`${api}/%252e%252e/admin`), /destination/u],
    ['dots with parameters', at(`${api}/..;x/admin`), /destination/u],
    ['an encoded slash', at(`${api}/..%2fadmin`), /destination/u],
    [
      'a comment that he reads',
      http('post', `${api}/comments`, { body: { text: jq('$secrets.token') } }),
      /"token" does not have this place: the body/u,
    ],
    ['a query', http('get', jq(`"${api}/?q=" + $secrets.token`)), /the query/u],
    ['a query member', http('get', `${api}/`, { query: { q: jq('$secrets.token') } }), /the query/u],
    ['a path segment', http('get', jq(`"${api}/" + $secrets.token`)), /the path/u],
    ['another header', http('get', `${api}/`, { headers: { 'X-Note': jq('$secrets.token') } }), /the header x-note/u],
    ['the name of a header', http('get', `${api}/`, { headers: jq('{ ($secrets.token): "x" }') }), /the name of a header/u],
    ['the name of a member', http('post', `${api}/`, { body: jq('{ ($secrets.token): 1 }') }), /the body/u],
    ['the host', http('get', jq('"http://" + $secrets.token + ".example.net/"')), /destination/u],
    ['another adapter instance', adapter('Other'), /the adapter instance "Other"/u],
    [
      'a user of restCall',
      { ask: { call: 'restCall', with: { uri: own.url, verb: 'GET', user: jq('$secrets.token'), password: 'x' } } },
      /authentication/u,
    ],
    [
      'a document',
      { ask: { call: 'openapi', with: { document: { endpoint: jq(`"${own.url}/?" + $secrets.token`) }, operationId: 'x' } } },
      /query/u,
    ],
    ['a part of the placeholder', http('get', `${api}/`, { query: { q: jq('$secrets.token[:30]') } }), /a part of a secret/u],
  ];
  const errors = await errorsOf(attacks.map(([, task]) => task));
  for (const [index, [what, , detail]] of attacks.entries()) {
    assert.equal(errors[index]?.type, authorization, `${what}: ${JSON.stringify(errors[index])}`);
    assert.match(errors[index]?.detail ?? '', detail, what);
  }
  assert.deepEqual([...tickets.requests, ...own.requests].map(heard), []);
  await until('the refusals are on record', async () => {
    const { text } = await send('mallory', 'GET', '/audit?limit=200');
    assert.deepEqual(secretsIn(text), []);
    assert.doesNotMatch(text, /s[a-z0-9]{39}/u, 'no placeholder is on record either');
    return text.includes('"rule":"secret token"');
  });
});

test('a secret in base64, hexadecimal digits or percent-encoding fails its task, and nothing leaves', async () => {
  const hex = '[explode[] | [(. / 16 | floor), . % 16] | map("0123456789abcdef"[.:. + 1])[]] | add';
  const percent = '[explode[] | "%" + ([(. / 16 | floor), . % 16] | map("0123456789ABCDEF"[.:. + 1]) | add)] | add';
  const spellings = [
    '@base64',
    '"u:" + . | @base64',
    '"us:" + . | @base64',
    '"use:" + . + "!" | @base64 | gsub("(?<a>.{9})"; "\\(.a)\\r\\n")',
    hex,
    `${hex} | ascii_upcase`,
    percent,
    `${percent} | @uri`,
    '.[:4] as $a | (.[4:5] | explode[0] | "%" + "\\(. / 16 | floor)" + "0123456789abcdef"[. % 16:. % 16 + 1]) as $b | $a + $b + .[5:]',
  ];
  const places = (text: string): readonly TaskDocument[] => [
    http('get', own.url, { headers: { Authorization: jq(`"Basic " + ($secrets.token | ${text} | gsub("[\\r\\n]"; ""))`) } }),
    http('post', own.url, { body: { a: [jq(`$secrets.token | ${text}`)] } }),
  ];
  const errors = await errorsOf(spellings.flatMap(places));
  for (const [index, text] of spellings.flatMap((each) => [each, each]).entries())
    assert.equal(errors[index]?.type, altered, `${text}: ${JSON.stringify(errors[index])}`);
  assert.deepEqual(own.requests.map(heard), []);
});

test('what an author makes of a placeholder in any other way tells nothing about the value', async () => {
  const tellings = [
    'explode',
    'explode | reverse | implode',
    '[splits("")]',
    'ascii_downcase | .[5:20]',
    'length',
    '[explode[] | . + 1] | implode',
  ];
  for (const text of tellings) {
    const run = await ended([
      http('post', own.url, { body: { a: jq(`$secrets.token | ${text}`), b: jq('$secrets.login | map_values(length)') } }),
    ]);
    assert.equal(run.status, 'completed', `${text}: ${JSON.stringify(run.error)}`);
  }
  assert.equal(own.requests.length, tellings.length);
  for (const request of own.requests) {
    const { a } = JSON.parse(request.body.toString()) as { readonly a: unknown };
    const codes = Array.isArray(a)
      ? a.map((each) => (typeof each === 'number' ? String.fromCodePoint(each) : String(each))).join('')
      : String(a);
    for (const read of [heard(request), codes, Array.from(codes).toReversed().join('')]) assert.deepEqual(secretsIn(read), []);
  }
});

test('a redirect is judged as a call of its own: no secret follows it to another destination', async () => {
  const answers: Readonly<Record<string, string>> = {
    '/api/away': `${own.url}/api/`,
    '/api/out': '/admin',
    '/api/in': '/api/target',
    '/api/token': `/api/target?${token}`,
  };
  tickets.answer(({ target }) => {
    const location = answers[target];
    return location === undefined ? jsonReply('{"at":"target"}') : httpReply({ status: 307, headers: { Location: location } });
  });
  const post = (path: string): TaskDocument =>
    http('post', `${tickets.url}${path}`, { body: { k: jq('$secrets.key') }, redirect: true });
  const get = (path: string): TaskDocument =>
    http(
      'get',
      { uri: `${tickets.url}${path}`, authentication: { bearer: { token: jq('$secrets.token') } } },
      { redirect: true },
    );
  const at = async (task: TaskDocument): Promise<readonly unknown[]> => {
    const { status, error } = await ended([task]);
    return [status, error?.type];
  };
  assert.deepEqual(await at(post('/api/away')), ['faulted', authorization]);
  assert.deepEqual(await at(post('/api/out')), ['faulted', authorization]);
  assert.deepEqual(await at(get('/api/out')), ['faulted', authorization]);
  assert.deepEqual(await at(get('/api/in')), ['completed', undefined]);
  assert.deepEqual(await at(post('/api/in')), ['completed', undefined]);
  // Another origin gets no credentials, and so none is judged.
  assert.deepEqual(await at(get('/api/away')), ['completed', undefined]);
  assert.match(JSON.stringify(await at(get('/api/token'))), /faulted.*communication/u);
  assert.deepEqual(
    own.requests.flatMap((request) => secretsIn(heard(request))),
    [],
  );
  const targets = tickets.requests.filter(({ target }) => target === '/api/target');
  assert.deepEqual(
    [targets[0]?.header('authorization'), JSON.parse(targets[1]?.body.toString() ?? '')],
    [`Bearer ${token}`, { k: key }],
  );
  assert.ok(!tickets.requests.some(({ target }) => target.startsWith('/admin')));
});

test('a server that an OpenAPI document names is a destination like any other', async () => {
  const spec = (server: string): string =>
    JSON.stringify({ openapi: '3.1.0', servers: [{ url: server }], paths: { '/x': { get: { operationId: 'x' } } } });
  own.answer(({ target }) =>
    jsonReply(target === '/his' ? spec(own.url) : target === '/theirs' ? spec(`${tickets.url}/api`) : '{}'),
  );
  const call = (path: string): TaskDocument => ({
    ask: {
      call: 'openapi',
      with: {
        document: { endpoint: `${own.url}${path}` },
        operationId: 'x',
        authentication: { bearer: { token: jq('$secrets.token') } },
      },
    },
  });
  const his = await ended([call('/his')]);
  assert.deepEqual([his.status, his.error?.type], ['faulted', authorization], JSON.stringify(his.error));
  const theirs = await ended([call('/theirs')]);
  assert.equal(theirs.status, 'completed', JSON.stringify(theirs.error));
  assert.deepEqual(
    own.requests.map(({ target }) => target),
    ['/his', '/theirs'],
  );
  assert.equal(tickets.request.header('authorization'), `Bearer ${token}`);
});

test('R93: an upstream that echoes a secret in another spelling tells it to no reader', async () => {
  const hex = Buffer.from(key).toString('hex');
  const base64 = Buffer.from(`user:${key}`).toString('base64');
  const spellings = [
    key,
    encodeURIComponent(key),
    encodeURIComponent(key).toLowerCase(),
    new URLSearchParams({ k: key }).toString(),
    key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    JSON.stringify(key),
    hex,
    hex.toUpperCase(),
    base64,
    base64.replaceAll(/.{20}/gu, '$&\r\n'),
  ];
  for (const type of ['application/json', 'text/plain']) {
    const text = JSON.stringify({ echoes: spellings });
    tickets.answer(() => jsonReply(text, { type, headers: { 'X-Echo': encodeURIComponent(key) } }));
    const body = { k: jq('$secrets.key') };
    const run = await ended([http('post', `${tickets.url}/api/echo`, { body, output: 'response' })]);
    assert.equal(run.status, 'completed', JSON.stringify(run.error));
    const { content, headers } = run.output as { readonly content: unknown; readonly headers: Readonly<Record<string, string>> };
    const echoes = typeof content === 'string' ? (JSON.parse(content) as { readonly echoes: unknown }) : content;
    const seen = (echoes as { readonly echoes: readonly string[] }).echoes;
    for (const [index, echo] of seen.entries()) assert.match(echo, /^.{0,8}\*\*\*.{0,4}$/u, `${type} ${spellings[index]}`);
    assert.equal(headers['x-echo'], '***');
  }
});

test('a placeholder that comes from elsewhere fails its task: from a reply, an event or a person', async () => {
  // His server learns the placeholder of the run by its code points, and writes it into its reply.
  own.answer(({ body }) => {
    const { codes } = JSON.parse(body.toString()) as { readonly codes: readonly number[] };
    return jsonReply(JSON.stringify({ back: String.fromCodePoint(...codes) }));
  });
  const learn = {
    learn: { call: 'http', with: { method: 'post', endpoint: own.url, body: { codes: jq('$secrets.key | explode') } } },
  };
  const use: TaskDocument = http('post', `${tickets.url}/api/comments`, { body: { text: jq('.back') } });
  const run = await ended([learn, use]);
  assert.deepEqual([run.status, run.error?.type], ['faulted', authorization], JSON.stringify(run.error));
  assert.match(run.error?.detail ?? '', /The reply has a placeholder/u);

  const learned: string[] = [];
  own.answer(({ body }) => {
    const { codes } = JSON.parse(body.toString()) as { readonly codes: readonly number[] };
    learned.push(String.fromCodePoint(...codes));
    return jsonReply('{}');
  });
  const runs = runCaller(() => gateway, as('ada'));
  const listen = { hear: { listen: { to: { one: { with: { type: 'told.v1', subject: 'a' } } } } } };
  const { id } = await runs.start(await stored([learn, listen]));
  await runs.reaches(id, 'waiting');
  const event = {
    specversion: '1.0',
    id: '1',
    source: 'https://example.net',
    type: 'told.v1',
    subject: 'a',
    data: { text: learned[0] },
  };
  const told = await gateway.send({
    method: 'POST',
    target: '/events',
    headers: { authorization: as('ada'), 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify(event),
  });
  assert.ok(told.status < 300, told.text);
  const heardIt = await runs.reaches(id, 'completed', 'faulted');
  assert.deepEqual([heardIt.status, heardIt.error?.type], ['faulted', authorization], JSON.stringify(heardIt));

  tickets.answer((_request, socket) => void socket.destroy());
  const change = { act: { call: 'http', with: { method: 'post', endpoint: `${tickets.url}/api/`, body: {} } } };
  const started = await runs.start(await stored([learn, change, use]));
  await runs.reaches(started.id, 'suspended');
  const [unknown] = (await runs.tasks(started.id)).filter(({ name }) => name === 'act');
  tickets.answer(() => jsonReply('{}'));
  const decision = { task: unknown?.id, as: 'done', reason: 'seen', output: { back: learned[1] } };
  const decided = await runs.change(started.id, 'resume', decision);
  assert.equal(decided.status, 200, decided.text);
  const resumed = await runs.reaches(started.id, 'completed', 'faulted');
  assert.deepEqual([resumed.status, resumed.error?.type], ['faulted', authorization], JSON.stringify(resumed));
  assert.deepEqual(tickets.requests.map(heard), []);

  // In another run it is text.
  const other = await ended(
    [http('post', `${tickets.url}/api/comments`, { body: { text: jq('.given'), use: jq('$secrets | length') } })],
    {
      given: learned[0],
    },
  );
  assert.equal(other.status, 'completed', JSON.stringify(other.error));
  assert.equal((JSON.parse(tickets.request.body.toString()) as { readonly text: string }).text, learned[0]);
});

test('readers see *** in place of a placeholder, and a child run has the placeholder of its parent as text', async () => {
  const child = documentOf([http('post', `${tickets.url}/api/c`, { body: { given: jq('.given'), own: jq('$secrets.key') } })]);
  assert.equal((await send('ada', 'POST', '/automation_catalog/workflows', child)).status, 201);
  const { namespace, name, version } = child.document;
  const input = { given: jq('$secrets.key') };
  const run = await ended([
    { inner: { run: { workflow: { namespace, name, version, input } } } },
    { tell: { emit: { event: { with: { source: 'https://example.net', type: 'told.v1', data: { k: jq('$secrets.key') } } } } } },
    { put: { set: { a: jq('"Bearer " + $secrets.token'), b: jq('$secrets.login') } } },
  ]);
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  assert.deepEqual(run.output, { a: 'Bearer ***', b: { username: '***', password: '***', pin: '***' } });
  assert.deepEqual(JSON.parse(tickets.request.body.toString()), { given: '***', own: key });
  const { text } = await send('ada', 'GET', `/runs/${run.id}/events`);
  assert.doesNotMatch(text, /s[a-z0-9]{39}/u);
});

test('a document is refused when it is stored: for who stores it, for its id, and for a secret that it does not list', async () => {
  const asking = [http('get', { uri: `${tickets.url}/api/`, authentication: { bearer: { token: jq('$secrets.token') } } })];
  const refusals: readonly (readonly [string, object, RegExp])[] = [
    [
      'mallory',
      documentOf(asking),
      /uses the secret \\"token\\", which does not exist, or does not have mallory among its writers/u,
    ],
    ['mallory', documentOf(asking, { namespace: 'lab' }), /"token\\", which does not exist, or does not have mallory/u],
    [
      'mallory',
      documentOf([{ a: { set: { b: 1 } } }], { use: ['unknown'] }),
      /"unknown\\", which does not exist, or does not have mallory/u,
    ],
    [
      'ada',
      documentOf([{ a: { set: { b: 1 } } }], { use: ['unknown'] }),
      /"unknown\\", which does not exist, or does not have ada/u,
    ],
    ['ada', documentOf(asking, { namespace: 'lab' }), /uses the secret \\"token\\", which is not for the workflow lab\.w/u],
    ['ada', documentOf(asking, { use: [] }), /uses the secret \\"token\\", which is not listed in use\.secrets/u],
  ];
  for (const [user, document, expected] of refusals) {
    for (const target of ['/automation_catalog/workflows', '/automation_catalog/workflows/check']) {
      const reply = await send(user, 'POST', target, document);
      assert.match(reply.text, expected);
      if (!target.endsWith('check'))
        assert.deepEqual([reply.status, (reply.json() as { readonly code: string }).code], [400, 'workflow-invalid']);
    }
  }
});

test('an author who is none of the writers of a secret is refused, also where another workflow uses it', async () => {
  const { document } = JSON.parse(await storedText()) as {
    readonly document: { readonly namespace: string; readonly name: string };
  };
  const workflowId = `${document.namespace}.${document.name}`;
  const inner = { inner: { run: { workflow: { namespace: document.namespace, name: document.name, version: '1.0.0' } } } };
  const outer = documentOf([inner], { namespace: 'lab', use: [] });
  assert.equal((await send('mallory', 'POST', '/automation_catalog/workflows', outer)).status, 201);
  for (const id of [workflowId, `lab.${outer.document.name}`]) {
    const made = await send('mallory', 'POST', '/automation_catalog/automations', { name: `m ${id}`, data: { workflowId: id } });
    assert.deepEqual([made.status, (made.json() as { readonly code: string }).code], [400, 'workflow-invalid'], made.text);
    assert.match(made.text, /does not have mallory among its writers/u);
  }
  const own = await send('ada', 'POST', '/automation_catalog/automations', { name: `a ${workflowId}`, data: { workflowId } });
  assert.equal(own.status, 201, own.text);
  const { _id } = own.json() as { readonly _id: string };
  const taken = await send('mallory', 'POST', `/automation_catalog/automations/${_id}/take`);
  assert.deepEqual([taken.status, (taken.json() as { readonly code: string }).code], [400, 'workflow-invalid'], taken.text);
  const storer = await send('mallory', 'POST', `/automation_catalog/workflows/${workflowId}/take`);
  assert.deepEqual([storer.status, (storer.json() as { readonly code: string }).code], [400, 'workflow-invalid'], storer.text);
});

/** The text of a workflow of ada that uses a secret. */
async function storedText(): Promise<string> {
  const document = documentOf([http('get', { uri: `${tickets.url}/api/`, authentication: { bearer: { use: 'token' } } })]);
  const reply = await send('ada', 'POST', '/automation_catalog/workflows', document);
  assert.equal(reply.status, 201, reply.text);
  return JSON.stringify(document);
}

test('a secret that is rotated, taken from its writers or removed is so for runs under way, and for new ones', async (t) => {
  const file = temporaryFile(t, 'token', 'c4n4ry-first');
  const rule = { destinations: [`${tickets.url}/api/`], workflows: ['*'], writers: { groups: ['noc-authors'] } };
  const withSecrets = (secrets: object) => ({ ...options, config: { ...options.config, automations: { secrets } } });
  const first = withSecrets({ token: { value: { file }, ...rule } });
  gateway = await startGateway(t, first);
  const runs = runCaller(() => gateway, as('ada'));
  const send = { uri: `${tickets.url}/api/`, authentication: { bearer: { token: jq('.bearer') } } };
  const listen = (type: string) => ({
    [type.slice(0, 3)]: { listen: { to: { one: { with: { type } } } }, output: { as: jq('$input') } },
  });
  const document = {
    document: { dsl: '1.0.3', namespace: 'noc', name: 'rotated', version: '1.0.0' },
    use: { secrets: ['token'] },
    do: [
      { make: { set: { bearer: jq('$secrets.token') } } },
      listen('one.v1'),
      { ask: { call: 'http', with: { method: 'get', endpoint: send }, output: { as: jq('$input') } } },
      listen('two.v1'),
      { again: { call: 'http', with: { method: 'get', endpoint: send } } },
    ],
  };
  const ask = (method: string, target: string, body: object, type = 'application/json') =>
    gateway.send({ method, target, headers: { authorization: as('ada'), 'content-type': type }, body: JSON.stringify(body) });
  const added = await ask('POST', '/automation_catalog/workflows', document);
  assert.equal(added.status, 201, added.text);
  const made = await ask('POST', '/automation_catalog/automations', { name: 'rotated', data: { workflowId: 'noc.rotated' } });
  const { _id } = made.json() as { readonly _id: string };
  const tell = (type: string) =>
    ask('POST', '/events', { specversion: '1.0', id: type, source: 'https://example.net', type }, 'application/cloudevents+json');
  const { id } = await runs.start(_id);
  await runs.reaches(id, 'waiting');
  writeFileSync(file, 'c4n4ry-second');
  await reloadWith(gateway, first);
  await tell('one.v1');
  await until('the call arrives', () => tickets.requests.length === 1);
  assert.equal(tickets.request.header('authorization'), 'Bearer c4n4ry-second', 'the value of the time of sending');
  await runs.reaches(id, 'waiting');
  await reloadWith(gateway, withSecrets({ token: { value: { file }, ...rule, writers: { groups: ['others'] } } }));
  await tell('two.v1');
  const lost = await runs.reaches(id, 'completed', 'faulted');
  assert.deepEqual([lost.status, lost.error?.type], ['faulted', authorization], JSON.stringify(lost));
  assert.match(lost.error?.detail ?? '', /"token" does not have ada among its writers/u);
  const again = await ask('POST', `/automation_catalog/automations/${_id}/run`, { input: {} });
  assert.deepEqual([again.status, (again.json() as { readonly code: string }).code], [409, 'delegation-lost'], again.text);
  assert.equal(tickets.requests.length, 1);
});
