import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTraceSettings, type TraceSettings } from './trace-settings.ts';

function read(environment: Readonly<Record<string, string>>): {
  readonly settings: TraceSettings | undefined;
  readonly warnings: readonly string[];
} {
  const warnings: string[] = [];
  return { settings: readTraceSettings(environment, (warning) => warnings.push(warning)), warnings };
}

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

test('an environment without an endpoint, or with traces switched off, gives no settings', () => {
  for (const environment of [
    {},
    { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  ])
    assert.deepEqual(read(environment), { settings: undefined, warnings: [] });
});

test('an endpoint alone gives the defaults of the specification', () => {
  const { settings, warnings } = read(endpoint);
  assert.deepEqual(warnings, []);
  assert.equal(settings?.endpoint.href, 'http://collector:4318/v1/traces');
  assert.deepEqual(
    { ...settings, endpoint: '' },
    {
      endpoint: '',
      encoding: 'protobuf',
      headers: [],
      compress: false,
      timeout: 10_000,
      sampler: { kind: 'parentbased_always_on', ratio: 1 },
      batch: { delay: 5_000, size: 512, queue: 2_048 },
      resource: {},
      files: {},
    },
  );
});

test('the variables for traces win over those for all signals, and their endpoint is used unchanged', () => {
  const { settings } = read({
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.net/otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Basic%20eDp5, b = 2 ',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '/key.pem',
  });
  assert.equal(settings?.endpoint.href, 'https://traces.example.net/otlp');
  assert.equal(settings?.encoding, 'json');
  assert.deepEqual(settings?.headers, ['Authorization', 'Basic eDp5', 'b', '2']);
  assert.deepEqual(settings?.files, { ca: '/ca.pem', key: '/key.pem' });
});

test('OTEL_SERVICE_NAME wins over service.name in OTEL_RESOURCE_ATTRIBUTES', () => {
  const { settings } = read({
    ...endpoint,
    OTEL_SERVICE_NAME: 'one',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=two,host.name=a%2Cb',
  });
  assert.deepEqual(settings?.resource, { 'service.name': 'one', 'host.name': 'a,b' });
});

test('an invalid value gives a warning with the name of its variable and without the value, and the default is used', () => {
  const secret = 'hunter2';
  const { settings, warnings } = read({
    ...endpoint,
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: `${secret},x=%zz,ok=1`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '-1',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
  });
  assert.equal(warnings.length, 8);
  assert.ok(!warnings.join('').includes(secret));
  assert.deepEqual(settings?.headers, ['ok', '1']);
  assert.equal(settings?.encoding, 'protobuf');
  assert.deepEqual(settings?.sampler, { kind: 'parentbased_always_on', ratio: 1 });
  assert.equal(settings?.timeout, 10_000);
  assert.equal(settings?.batch.queue, 2_048);
});

test('an endpoint without http or https gives a warning and no settings', () => {
  const { settings, warnings } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' });
  assert.equal(settings, undefined);
  assert.equal(warnings.length, 1);
});
