import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { errorCodes } from '../src/base/error-codes.ts';
import { relay, restCall } from './support/callers/calls.ts';
import { openConnection, requestBytes } from './support/callers/http-client.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { readPromql } from './support/promql.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const owner = { after };
const far = await upstream(owner);
const caFile = temporaryFile(owner, 'ca.pem', createAuthority().cert);
const gateway = await startGateway(owner, {
  config: {
    outbound: { allow: [far.authority] },
    notifications: [{ url: far.url, secret: `whsec_${'x'.repeat(32)}` }],
  },
  adapters: [
    { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' }, denyPaths: { actions: ['denied/**'] } },
    { name: 'Idle', kind: 'rest', url: far.url, auth: { type: 'none' }, tls: { caFile } },
  ],
});
const query = { params: { path: 'data/x', accept: 'application/json' } };
const action = { params: { path: 'operations/x', accept: 'application/json' }, body: {} };

async function metricsText(): Promise<string> {
  return (await gateway.send({ target: '/metrics', role: 'readonly' })).text;
}

function samplesOf(text: string): readonly Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', inner = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/u.exec(line) ?? assert.fail(line);
      const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/gu)].map(
        ([, label = '', text = '']) => [label, text] as const,
      );
      return { name, labels: Object.fromEntries(labels), value: Number(value) };
    });
}

/** The sum of the samples of that name that have these labels. */
function valueOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  assert.ok(found.length > 0, `there is no ${name} ${JSON.stringify(labels)}`);
  return found.reduce((sum, sample) => sum + sample.value, 0);
}

async function samples(): Promise<readonly Sample[]> {
  return samplesOf(await metricsText());
}

/** Runs `work`; answers by how much a counter grew. */
async function added(work: () => Promise<unknown>): Promise<(name: string, labels?: Readonly<Record<string, string>>) => number> {
  const before = await samples();
  await work();
  // A request is counted when it ends at the gateway, which may be after the caller has read the reply.
  await until('the request is counted', async () => valueOf(await samples(), 'gateway_requests_in_flight') <= 1);
  const now = await samples();
  return (name, labels) => {
    const old = before.filter(
      (sample) => sample.name === name && Object.entries(labels ?? {}).every(([label, value]) => sample.labels[label] === value),
    );
    return valueOf(now, name, labels) - old.reduce((sum, sample) => sum + sample.value, 0);
  };
}

const route = '/orchestrator_manager/restAction/:adapterId';
const adapter = 'Local NSO';

test('the counters of outcomes begin at 0 for every adapter instance and route', async () => {
  const all = await samples();
  for (const name of [adapter, 'Idle']) {
    for (const outcome of ['ok', 'refused', 'failed', 'unknown'])
      for (const counted of [route, 'run restAction', 'mcp restAction'])
        assert.equal(valueOf(all, 'gateway_calls_total', { route: counted, adapter: name, outcome }), 0);
  }
});

const outcomes = [
  {
    name: 'of restCall that is answered is ok, with an error status as well',
    outcome: 'ok',
    labels: { route: '/tools/restCall', adapter: '' },
    work: () => {
      far.answer(() => httpReply({ status: 500 }));
      return restCall(gateway, { uri: far.url, verb: 'GET', responseHeaders: false });
    },
  },
  {
    name: 'that path rights deny is refused',
    outcome: 'refused',
    labels: { route, adapter },
    work: () => relay(gateway, 'restAction', adapter, { ...action, params: { ...action.params, path: 'denied/x' } }),
  },
  {
    name: 'that the role of the caller forbids is refused',
    outcome: 'refused',
    labels: { route, adapter: '' },
    work: () => relay(gateway, 'restAction', adapter, action, { role: 'apiread' }),
  },
  {
    name: 'that an orchestrator answers with 500 is failed',
    outcome: 'failed',
    labels: { route, adapter },
    work: () => {
      far.answer(() => httpReply({ status: 500 }));
      return relay(gateway, 'restAction', adapter, action);
    },
  },
  {
    name: 'that an orchestrator answers with 404 is failed',
    outcome: 'failed',
    labels: { route, adapter },
    work: () => {
      far.answer(() => httpReply({ status: 404 }));
      return relay(gateway, 'restAction', adapter, action);
    },
  },
  {
    name: 'that is an action without an answer is unknown',
    outcome: 'unknown',
    labels: { route, adapter },
    work: () => {
      far.answer((_request, socket) => void socket.destroy());
      return relay(gateway, 'restAction', adapter, action);
    },
  },
  {
    name: 'whose caller leaves before the answer is unknown',
    outcome: 'unknown',
    labels: { route, adapter },
    work: async () => {
      far.answer(() => undefined);
      const connection = await openConnection(gateway.port);
      const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' };
      const target = '/orchestrator_manager/restAction/Local%20NSO';
      connection.write(requestBytes(gateway.port, { method: 'POST', target, headers, body: JSON.stringify(action) }));
      await until('the call has arrived', () => far.requests.length > 0);
      connection.socket.destroy();
    },
  },
];

for (const { name, outcome, labels, work } of outcomes) {
  test(`a call ${name}`, { timeout: 30_000 }, async () => {
    const more = await added(work);
    assert.equal(more('gateway_calls_total', { ...labels, outcome }), 1);
    assert.equal(more('gateway_calls_total'), 1);
    if (name.startsWith('whose caller leaves'))
      assert.equal(more('gateway_requests_total', { route: labels.route, status: 'none' }), 1, 'nothing was answered');
  });
}

test('the duration of each attempt of a query is measured, and once that of the request', { timeout: 30_000 }, async () => {
  far.answer(() => (far.requests.length === 1 ? httpReply({ status: 503 }) : jsonReply('{}')));
  const more = await added(() => relay(gateway, 'restQuery', adapter, query));
  assert.equal(more('gateway_attempt_duration_seconds_count', { adapter }), 2);
  assert.equal(more('gateway_request_duration_seconds_count', { route: '/orchestrator_manager/restQuery/:adapterId' }), 1);
  assert.equal(more('gateway_far_side_replies_total', { adapter, status: '2xx' }), 1);
});

test('an error is counted by its code, and every code begins at 0', async () => {
  assert.equal(valueOf(await samples(), 'gateway_errors_total', { code: 'too-many-redirects' }), 0);
  const more = await added(() => gateway.send({ target: '/nowhere' }));
  assert.equal(more('gateway_errors_total', { code: 'not-found' }), 1);
});

test('connections are counted by pool: busy during a call, idle after it', { timeout: 30_000 }, async () => {
  const released = Promise.withResolvers<undefined>();
  far.answer(async () => {
    await released.promise;
    return jsonReply('{}');
  });
  const call = relay(gateway, 'restQuery', adapter, query);
  const connections = async (state: string): Promise<number> =>
    valueOf(await samples(), 'gateway_connections', { pool: 'adapter', adapter, state });
  await until('the call has arrived', () => far.requests.length > 0);
  assert.equal(await connections('busy'), 1);
  released.resolve(undefined);
  assert.equal((await call).status, 200);
  assert.equal(await connections('busy'), 0);
  assert.ok((await connections('idle')) >= 1);
});

test('verified credentials are cache hits, and wrong ones are misses and failed checks', { timeout: 30_000 }, async () => {
  const whoami = (password: string) => () =>
    gateway.send({ target: '/whoami', headers: { Authorization: basic('other-user', password) } });
  await whoami('correct horse battery staple')();
  const again = await added(whoami('correct horse battery staple'));
  // The requests for /metrics are authenticated as well, so there may be more hits than one.
  assert.ok(again('gateway_credential_cache_total', { result: 'hit' }) >= 1);
  assert.equal(again('gateway_credential_cache_total', { result: 'miss' }), 0);
  const wrong = await added(whoami('wrong'));
  assert.equal(wrong('gateway_credential_cache_total', { result: 'miss' }), 1);
  assert.equal(wrong('gateway_credential_checks_total', { kind: 'user', outcome: 'wrong' }), 1);
  assert.ok(wrong('gateway_store_statement_duration_seconds_count', { access: 'write' }) > 0);
});

const read = (path: string): Promise<string> => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

test('a metric has a name that ends in _total only if it is a counter', async () => {
  const types = [...(await metricsText()).matchAll(/^# TYPE (\w+) (\w+)$/gmu)];
  const misnamed = types.filter(([, name = '', type]) => name.endsWith('_total') !== (type === 'counter'));
  assert.deepEqual(
    misnamed.map(([, name]) => name),
    [],
  );
});

/** Series and labels that Prometheus adds. */
const prometheus = { series: new Set(['up']), labels: new Set(['job', 'instance', 'le']) };

/** Throws where an expression names an unknown series, label or value of a label. */
function checkExpression(expression: string, all: readonly Sample[]): void {
  const { series, labels } = readPromql(expression);
  assert.ok(series.length > 0, `no metric, in: ${expression}`);
  const known = new Set(prometheus.labels);
  for (const { name, matchers } of series) {
    if (prometheus.series.has(name)) continue;
    const own = all.filter((sample) => sample.name === name);
    assert.ok(own.length > 0, `there is no series ${name}, in: ${expression}`);
    for (const label of own.flatMap((sample) => Object.keys(sample.labels))) known.add(label);
    for (const { label, value } of matchers) {
      assert.ok(own.every((sample) => label in sample.labels) || prometheus.labels.has(label), `${name} has no label ${label}`);
      if (prometheus.labels.has(label) || value === '' || value.startsWith('$')) continue;
      for (const one of value.split('|'))
        assert.ok(
          own.some((sample) => sample.labels[label] === one) || (label === 'code' && one in errorCodes),
          `no ${label} ${one}`,
        );
    }
  }
  for (const label of labels) assert.ok(known.has(label), `no series has the label ${label}, in: ${expression}`);
  for (const [, name = ''] of expression.matchAll(/\b(?:rate|increase)\((\w+)/gu))
    assert.match(name, /_(?:total|count|sum|bucket)$/u, `${name} is no counter, in: ${expression}`);
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

test('every alert rule names known series, labels and values', async () => {
  const all = await samples();
  const { groups } = parse(await read('deploy/prometheus/alerts.yaml')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  assert.ok(rules.length > 10);
  assert.equal(new Set(rules.map((rule) => rule.alert)).size, rules.length);
  for (const { alert, expr, labels, annotations } of rules) {
    checkExpression(expr, all);
    assert.match(labels.severity, /^(?:critical|warning)$/u, alert);
    const names = readPromql(expr);
    // The result of an aggregation has only the labels of its grouping.
    const of = new Set(names.series.map((one) => one.name));
    const own = all.filter((sample) => of.has(sample.name)).flatMap((sample) => Object.keys(sample.labels));
    const left = new Set(names.labels.length > 0 ? names.labels : ['instance', 'job', ...own]);
    for (const [, label = ''] of `${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/gu))
      assert.ok(left.has(label), `${alert} shows a label ${label} that it does not have`);
  }
});

interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

test('every panel and variable of the dashboard names known series, labels and values', async () => {
  const all = await samples();
  const dashboard = JSON.parse(await read('deploy/grafana/orchestration-gateway.json')) as Dashboard;
  assert.equal(new Set(dashboard.panels.map((panel) => panel.id)).size, dashboard.panels.length);
  const variables = new Set(['__rate_interval', ...dashboard.templating.list.map((variable) => variable.name)]);
  const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
  assert.ok(targets.length > 20);
  const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
  assert.equal(definitions.length, 3);
  for (const expression of [...definitions, ...targets.map((target) => target.expr)]) {
    checkExpression(expression, all);
    for (const [, variable = ''] of expression.matchAll(/\$(\w+)/gu)) assert.ok(variables.has(variable), variable);
  }
  for (const { expr, legendFormat } of targets) {
    const { labels } = readPromql(expr);
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/gu))
      assert.ok(labels.includes(label) || label === 'instance', `${legendFormat} of: ${expr}`);
  }
});

test('every metric of the gateway is in the dashboard', async () => {
  const text = await read('deploy/grafana/orchestration-gateway.json');
  const names = [...(await metricsText()).matchAll(/^# TYPE (gateway_\w+) /gmu)].map(([, name = '']) => name);
  assert.deepEqual(
    names.filter((name) => !text.includes(name)),
    [],
  );
});

test('a planted wrong name, label, value or function is found', async () => {
  const all = await samples();
  checkExpression(
    'sum by (adapter) (rate(gateway_calls_total{outcome="ok"}[5m])) / on (adapter) group_left vector(1) > 0.1',
    all,
  );
  for (const [planted, complaint] of [
    ['rate(gateway_call_total[5m])', /no series gateway_call_total/u],
    ['sum(rate(gateway_request_duration_seconds[5m]))', /no series gateway_request_duration_seconds/u],
    ['gateway_overloaded{adapter="x"}', /no label adapter/u],
    ['sum by (rout) (gateway_calls_total)', /the label rout/u],
    ['gateway_calls_total{outcome=~"failed|unkown"}', /no outcome unkown/u],
    ['gateway_errors_total{code="adapter-buzy"}', /no code adapter-buzy/u],
    ['rat(gateway_calls_total[5m])', /no function rat/u],
    ['rate(gateway_requests_in_flight[5m])', /is no counter/u],
    ['gateway_overloaded == 1 ; drop', /what is ";/u],
    ['gateway_overloaded{job}', /matchers cannot be read/u],
  ] as const)
    assert.throws(() => checkExpression(planted, all), complaint, planted);
});
