// suite: long, alone

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { command } from '../support/gateway/command.ts';
import { configurationOf } from '../support/gateway/start-gateway.ts';
import { fakeCluster } from '../support/packages/fake-cluster.ts';
import { helmProgram } from '../support/packages/helm.ts';
import { cannotRun, mustRun, packageFile, runTool, temporaryFolder, testLimit, version } from '../support/packages/packages.ts';

// The chart, rendered, linted, installed and rolled back by a real Helm, with a stand-in for the API of Kubernetes. The schemas of Kubernetes
// check its objects, and the gateway checks its configuration.

const chart = packageFile(`orchestration-gateway-chart-${version}.tgz`);
const skip = cannotRun(['python3', 'python3'], ['npm', 'npm']);
const { access } = configurationOf({}) as { readonly access: object };

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid?: string };
  readonly stringData?: { readonly 'gateway.yaml': string };
  readonly spec?: {
    readonly replicas?: number;
    readonly strategy?: { readonly type: string };
    readonly selector?: Readonly<Record<string, string>>;
    readonly template?: {
      readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: object;
        readonly containers: readonly { readonly image: string }[];
      };
    };
  };
}

async function helm(t: TestContext, verb: string, values: object) {
  const file = join(temporaryFolder(t, 'chart'), 'values.yaml');
  writeFileSync(file, JSON.stringify(values));
  const name = verb === 'template' ? ['noc'] : ['--strict'];
  return await runTool(await helmProgram(), [verb, ...name, chart, '--values', file]);
}

async function render(t: TestContext, values: object): Promise<readonly Manifest[]> {
  const { code, output } = await helm(t, 'template', values);
  assert.equal(code, 0, output);
  return parseAllDocuments(output)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

type Model = new (data: never) => { validate(): void };

/** Throws where an object of Kubernetes itself does not match its schema. Answers the kinds that were checked. */
async function validate(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const checked: string[] = [];
  for (const manifest of manifests) {
    const { apiVersion, kind } = manifest;
    // Those of the Prometheus operator are not in the package.
    if (apiVersion.startsWith('monitoring.')) continue;
    // Its types are none for a compiler that reads every declaration.
    const models = (await import(`kubernetes-models/${apiVersion}`)) as Readonly<Record<string, Model>>;
    const model = models[kind];
    assert.ok(model, `${apiVersion} has no ${kind}`);
    new model(manifest as never).validate();
    checked.push(kind);
  }
  return checked.toSorted();
}

const named = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  assert.ok(found, `${kind} ${name}`);
  return found;
};

async function assertConfiguration(
  t: TestContext,
  manifest: Manifest,
  environment = {},
): Promise<Readonly<Record<string, never>>> {
  const text = manifest.stringData?.['gateway.yaml'] ?? '';
  const directory = temporaryFolder(t, 'chart-config');
  writeFileSync(join(directory, 'gateway.yaml'), text);
  const { code, stderr } = await command(['check-config'], { directory, environment });
  assert.equal(code, 0, stderr);
  return parseYaml(text) as Readonly<Record<string, never>>;
}

const everything = {
  ingress: { host: 'gateway.example.net', tlsSecret: 'gateway-tls', className: 'nginx' },
  serviceMonitor: { enabled: true, basicAuthSecret: 'scrape' },
  alerts: { enabled: true },
  dashboards: { enabled: true },
  extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/ca/ca.pem' }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'private-ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/ca', readOnly: true }],
};

test('the chart on SQLite is one gateway with a volume, and refuses a second one', { skip, timeout: testLimit }, async (t) => {
  const values = { config: { access, server: { drain: '2m' } } };
  const manifests = await render(t, values);
  assert.deepEqual(await validate(manifests), ['Deployment', 'NetworkPolicy', 'PersistentVolumeClaim', 'Secret', 'Service']);
  const { spec } = named(manifests, 'Deployment', 'noc-calls');
  assert.deepEqual([spec?.replicas, spec?.strategy?.type], [1, 'Recreate']);
  assert.equal(spec?.template?.spec.terminationGracePeriodSeconds, 130);
  const config = await assertConfiguration(t, named(manifests, 'Secret', 'noc-calls-config'));
  assert.deepEqual(config['store'], { url: 'sqlite:/data/gateway.db' });
  const two = await helm(t, 'template', { ...values, calls: { replicas: 2 } });
  assert.equal(two.code, 1);
  assert.match(two.output, /a SQLite file has one gateway: set store\.kind to postgres/u);
});

test('the chart on PostgreSQL is gateways for calls and gateways for runs, and the service reaches those for calls alone', {
  skip,
  timeout: testLimit,
}, async (t) => {
  const store = { kind: 'postgres' };
  const values = { ...everything, store, existingSecret: 'gateway-secrets', calls: { replicas: 3 }, config: { access } };
  const manifests = await render(t, values);
  const kinds = [
    'ConfigMap',
    'Deployment',
    'Deployment',
    'Ingress',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PodDisruptionBudget',
  ];
  assert.deepEqual(await validate(manifests), [...kinds, 'Secret', 'Secret', 'Service', 'Service']);
  const environment = { GATEWAY_STORE_URL: 'postgres://gateway@store.example.net/gateway' };
  for (const [of, replicas, tasks] of [
    ['calls', 3, 0],
    ['runs', 1, 32],
  ] as const) {
    assert.equal(named(manifests, 'Deployment', `noc-${of}`).spec?.replicas, replicas);
    const config = await assertConfiguration(t, named(manifests, 'Secret', `noc-${of}-config`), environment);
    assert.deepEqual(config['automations'], { tasks });
    assert.deepEqual(config['server'], { drain: '30s', host: '0.0.0.0', port: 3000, publicUrl: 'https://gateway.example.net' });
  }
  assert.equal(named(manifests, 'Service', 'noc').spec?.selector?.['app.kubernetes.io/component'], 'calls');
  assert.ok(named(manifests, 'ServiceMonitor', 'noc'));
  assert.ok(named(manifests, 'PrometheusRule', 'noc'));
  const unnamed = await helm(t, 'template', { store, config: { access } });
  assert.match(unnamed.output, /existingSecret has to name a Secret with the URL of the store/u);
});

/** The same chart as one of another version. */
async function otherChart(t: TestContext, other: string): Promise<string> {
  const folder = temporaryFolder(t, 'chart-of-another-version');
  await mustRun('tar', ['-xf', chart, '-C', folder]);
  const file = join(folder, 'orchestration-gateway/Chart.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(version, other));
  return join(folder, 'orchestration-gateway');
}

test('Helm installs the chart, upgrades it, and goes back one version: each object is then as it was', {
  skip,
  timeout: testLimit,
}, async (t) => {
  const cluster = await fakeCluster(t);
  const own = async (...parameters: readonly string[]): Promise<void> => {
    const { code, output } = await runTool(await helmProgram(), parameters, { env: cluster.environment });
    assert.equal(code, 0, `${output}\n${cluster.requests.slice(-20).join('\n')}`);
  };
  /** What is in the cluster, and the versions of the images of both deployments. */
  const present = async () => {
    const manifests = cluster.objects() as unknown as readonly Manifest[];
    const kinds = await validate(manifests);
    const images = ['noc-calls', 'noc-runs'].map((name) => {
      const [container] = named(manifests, 'Deployment', name).spec?.template?.spec.containers ?? [];
      return container?.image.split(':')[1];
    });
    const kept = manifests.map(({ metadata: { uid: _uid, ...metadata }, ...rest }) => ({ ...rest, metadata }));
    return { kinds, images, kept };
  };
  const values = (name: string, given: object): string => {
    const file = join(temporaryFolder(t, name), 'values.yaml');
    writeFileSync(file, JSON.stringify({ store: { kind: 'postgres' }, existingSecret: 'gateway-secrets', ...given }));
    return file;
  };
  // The stand-in has no schemas: `validate` has those of Kubernetes.
  const unchecked = '--disable-openapi-validation';
  const older = '0.1.99';
  await own('install', 'noc', await otherChart(t, older), unchecked, '--values', values('first', { config: { access } }));
  const first = await present();
  assert.deepEqual(first.images, [older, older]);

  const given = {
    ...everything,
    serviceMonitor: {},
    alerts: {},
    calls: { replicas: 3 },
    config: { access, server: { drain: '1m' } },
  };
  await own('upgrade', 'noc', chart, unchecked, '--values', values('second', given));
  const second = await present();
  assert.deepEqual(second.images, [version, version]);
  assert.ok(second.kinds.includes('Ingress') && !first.kinds.includes('Ingress'));

  await own('rollback', 'noc', '1');
  assert.deepEqual(await present(), first);
});

test('a changed configuration rolls the gateways, and the same one does not', { skip, timeout: testLimit }, async (t) => {
  const checksum = async (config: object): Promise<string | undefined> =>
    named(await render(t, { config }), 'Deployment', 'noc-calls').spec?.template?.metadata.annotations['checksum/config'];
  const first = await checksum({ access });
  assert.equal(await checksum({ access }), first);
  assert.notEqual(await checksum({ access, server: { logLevel: 'debug' } }), first);
});

test('Helm finds no fault in the chart, and the schema of its values refuses a misspelt name and a key that the chart sets', {
  skip,
  timeout: testLimit,
}, async (t) => {
  const linted = await helm(t, 'lint', { ...everything, config: { access } });
  assert.equal(linted.code, 0, linted.output);
  for (const wrong of [
    { stroe: {} },
    { config: { access, store: { url: 'sqlite:x' } } },
    { config: { access, server: { drain: 'long' } } },
  ]) {
    const { code, output } = await helm(t, 'template', { config: { access }, ...wrong });
    assert.equal(code, 1, JSON.stringify(wrong));
    assert.match(output, /values don't meet the specifications of the schema/u);
  }
});
