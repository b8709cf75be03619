/** The sampling and export of spans, from OpenTelemetry's standard environment variables. Times in milliseconds. */
export interface TraceSettings {
  /** http or https, with the path. */
  readonly endpoint: URL;
  readonly encoding: 'json' | 'protobuf';
  /** Name, value, name, value …; the values may be secrets. */
  readonly headers: readonly string[];
  readonly compress: boolean;
  /** For one batch, including its repetitions. */
  readonly timeout: number;
  readonly sampler: { readonly kind: (typeof samplers)[number]; readonly ratio: number };
  readonly batch: { readonly delay: number; readonly size: number; readonly queue: number };
  /** Attributes of the resource, `service.name` among them where it is set. */
  readonly resource: Readonly<Record<string, string>>;
  /** Files in PEM format. */
  readonly files: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

/** The variables that are read, as docs/reference/traces.md shows them. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    meaning: 'address of the collector, without `/v1/traces`; `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is the whole address',
    standard: 'none: no traces',
  },
  OTEL_SDK_DISABLED: { meaning: '`true`: no traces', standard: '`false`' },
  OTEL_TRACES_EXPORTER: { meaning: '`otlp`; `none`: no traces', standard: '`otlp`' },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    meaning: '`http/protobuf` or `http/json`; `grpc` is not supported',
    standard: '`http/protobuf`',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    meaning: '`name=value,name=value`, percent-encoded: headers for the collector, such as a token',
    standard: 'none',
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: { meaning: '`gzip` or `none`', standard: '`none`' },
  OTEL_EXPORTER_OTLP_TIMEOUT: { meaning: 'milliseconds for a batch, with its repetitions', standard: '`10000`' },
  OTEL_EXPORTER_OTLP_CERTIFICATE: {
    meaning: 'PEM file of the certificate authorities for the collector, in place of the default ones',
    standard: 'none',
  },
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: { meaning: 'PEM file of a client certificate', standard: 'none' },
  OTEL_EXPORTER_OTLP_CLIENT_KEY: { meaning: 'PEM file of its private key', standard: 'none' },
  OTEL_SERVICE_NAME: { meaning: '`service.name`', standard: '`orchestration-gateway`' },
  OTEL_RESOURCE_ATTRIBUTES: {
    meaning: 'further attributes of the resource, in the format of the headers',
    standard: '`service.version`, `service.instance.id`',
  },
  OTEL_TRACES_SAMPLER: {
    meaning: '`always_on`, `always_off`, `traceidratio` or one of these with the prefix `parentbased_`',
    standard: '`parentbased_always_on`',
  },
  OTEL_TRACES_SAMPLER_ARG: { meaning: 'the share of traces for `traceidratio`, 0 to 1', standard: '`1`' },
  OTEL_BSP_SCHEDULE_DELAY: { meaning: 'milliseconds between two batches', standard: '`5000`' },
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: { meaning: 'spans in a batch', standard: '`512`' },
  OTEL_BSP_MAX_QUEUE_SIZE: { meaning: 'spans that may wait; the gateway drops further ones', standard: '`2048`' },
} as const;

type Variable = keyof typeof traceVariables;
type OfOtlp<Name> = Name extends `OTEL_EXPORTER_OTLP_${infer Rest}` ? Rest : never;
/** What follows `OTEL_EXPORTER_OTLP_` or `OTEL_EXPORTER_OTLP_TRACES_`. */
type OtlpName = OfOtlp<Variable>;
type ReadVariable = Variable | `OTEL_EXPORTER_OTLP_TRACES_${OtlpName}`;

type Environment = Readonly<Record<string, string | undefined>>;

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * Undefined where traces are off: no endpoint, `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none`. An invalid value is ignored, as
 * OpenTelemetry's specification requires, and `warn` gets the name of its variable, never the value.
 */
export function readTraceSettings(environment: Environment, warn: (problem: string) => void): TraceSettings | undefined {
  const read = reader(environment, warn);
  if (read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const exporter = read.text('OTEL_TRACES_EXPORTER') ?? 'otlp';
  const endpoint = endpointOf(read, warn);
  if (endpoint === undefined || exporter === 'none') return undefined;
  if (exporter !== 'otlp') warn('OTEL_TRACES_EXPORTER names an unknown exporter: otlp is used');
  const file = (name: OtlpName, as: string): Record<string, string> => {
    const path = read.otlp(name);
    return path === undefined ? {} : { [as]: path };
  };
  return {
    endpoint,
    encoding: read.choice(read.otlpName('PROTOCOL'), ['http/protobuf', 'http/json']) === 'http/json' ? 'json' : 'protobuf',
    headers: Object.entries(read.pairs(read.otlpName('HEADERS'))).flat(),
    compress: read.choice(read.otlpName('COMPRESSION'), ['none', 'gzip']) === 'gzip',
    timeout: read.number(read.otlpName('TIMEOUT'), { fallback: 10_000, least: 1, most: 600_000 }),
    sampler: {
      kind: read.choice('OTEL_TRACES_SAMPLER', ['parentbased_always_on', ...samplers]),
      ratio: read.number('OTEL_TRACES_SAMPLER_ARG', { fallback: 1, least: 0, most: 1 }),
    },
    batch: {
      delay: read.number('OTEL_BSP_SCHEDULE_DELAY', { fallback: 5_000, least: 0, most: 600_000 }),
      size: read.number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', { fallback: 512, least: 1, most: 65_536 }),
      queue: read.number('OTEL_BSP_MAX_QUEUE_SIZE', { fallback: 2_048, least: 1, most: 1_048_576 }),
    },
    resource: {
      ...read.pairs('OTEL_RESOURCE_ATTRIBUTES'),
      ...named('service.name', read.text('OTEL_SERVICE_NAME')),
    },
    files: { ...file('CERTIFICATE', 'ca'), ...file('CLIENT_CERTIFICATE', 'cert'), ...file('CLIENT_KEY', 'key') },
  };
}

function named(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

/** The variable for traces is used unchanged; the gateway appends the path of traces to the one for all signals. */
function endpointOf(read: ReturnType<typeof reader>, warn: (problem: string) => void): URL | undefined {
  const ofTraces = read.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const ofAll = read.text('OTEL_EXPORTER_OTLP_ENDPOINT');
  const text = ofTraces ?? (ofAll === undefined ? undefined : `${ofAll.replace(/\/+$/u, '')}/v1/traces`);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  warn(`${read.otlpName('ENDPOINT')} is no http or https address: no traces are sent`);
  return undefined;
}

function reader(environment: Environment, warn: (problem: string) => void) {
  /** An empty variable counts as unset. */
  const text = (name: ReadVariable): string | undefined => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const otlpName = (name: OtlpName): ReadVariable => {
    const ofTraces = `OTEL_EXPORTER_OTLP_TRACES_${name}` as const;
    return text(ofTraces) === undefined ? `OTEL_EXPORTER_OTLP_${name}` : ofTraces;
  };
  return {
    text,
    otlpName,
    otlp: (name: OtlpName): string | undefined => text(otlpName(name)),
    /** The first of `allowed` is the default. */
    choice<const T extends string>(name: ReadVariable, allowed: readonly [T, ...T[]]): T {
      const value = text(name);
      const [fallback] = allowed;
      const found = allowed.find((one) => one === value);
      if (found === undefined && value !== undefined) warn(`${name} has an unknown value: ${fallback} is used`);
      return found ?? fallback;
    },
    number(
      name: ReadVariable,
      { fallback, least, most }: { readonly fallback: number; readonly least: number; readonly most: number },
    ): number {
      const value = text(name);
      if (value === undefined) return fallback;
      const number = /^\d+(?:\.\d+)?$/u.test(value) ? Number(value) : Number.NaN;
      if (number >= least && number <= most) return number;
      warn(`${name} is not a number from ${least} to ${most}: ${fallback} is used`);
      return fallback;
    },
    /** `name=value,name=value`, percent-encoded (W3C Baggage). */
    pairs(name: ReadVariable): Readonly<Record<string, string>> {
      const pairs: Record<string, string> = {};
      for (const part of text(name)?.split(',') ?? []) {
        const [, key = '', value = ''] = /^([^=]+)=(.*)$/su.exec(part.trim()) ?? [];
        const decoded = decode(value.trim());
        if (key === '' || decoded === undefined) warn(`${name} has a part that is not name=value: the part is ignored`);
        else pairs[key.trim()] = decoded;
      }
      return pairs;
    },
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
