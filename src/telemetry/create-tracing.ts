import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  type Span as ApiSpan,
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { randomHex } from '#base/text/random-hex.ts';
import { inTime } from '#base/timing/in-time.ts';
import type { ReceivedTrace, TraceContext } from '#base/trace-context.ts';
import type { Span, SpanAttributes, Tracing } from '#base/tracing.ts';
import { CallScope, pause } from '#outbound/call/call-scope.ts';
import { headerValue, type OutboundCall, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import { mayBeRepeated, type Sender } from '#outbound/call/sender.ts';
import type { TraceSettings } from './trace-settings.ts';

interface StartedTracing extends Tracing {
  /** Sends the remaining spans for two seconds at most, then aborts. */
  stop(): Promise<void>;
}

/** Milliseconds that the export of the last spans may delay the end of the gateway. */
const lastFlush = 2_000;

/** This module is imported only where traces are on, so that otherwise no module of OpenTelemetry is loaded. */
export function startTracing(options: {
  readonly settings: TraceSettings;
  readonly version: string;
  readonly exporter: OtlpExporter;
}): StartedTracing {
  const { settings, version, exporter } = options;
  const { batch } = settings;
  const sampler = samplerOf(settings.sampler);
  const ids = createIds();
  const provider = new TracerProvider({
    sampler,
    idGenerator: ids,
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': 'orchestration-gateway',
        'service.version': version,
        'service.instance.id': randomUUID(),
        ...settings.resource,
      }),
    ),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: batch.delay,
        maxQueueSize: batch.queue,
        maxExportBatchSize: Math.min(batch.size, batch.queue),
        exportTimeoutMillis: settings.timeout + 1_000,
      }),
    ],
    spanLimits: { attributeValueLengthLimit: 2_048 },
  });
  const tracer = provider.getTracer('orchestration-gateway', version);
  return {
    request({ name, kind = 'server', received, facts }) {
      const parent = received === undefined ? ROOT_CONTEXT : remoteParent(received);
      return startSpan(tracer, { name, kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL, parent, facts });
    },
    isRecorded(traceId) {
      const { decision } = sampler.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []);
      return decision === SamplingDecision.RECORD_AND_SAMPLED;
    },
    ended({ name, trace: ownTrace, from, to, facts, failed }) {
      const startTime = new Date(from);
      const span = ids.using(ownTrace, () => tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime }, ROOT_CONTEXT));
      if (span.isRecording()) span.setAttributes(defined(facts()));
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(new Date(to));
    },
    async stop() {
      // The log already has a line for an unavailable collector.
      const flushed = provider.shutdown().catch(() => {});
      await inTime(flushed, lastFlush, () => {});
      exporter.abort();
    },
  };
}

/** Random ids, except for a span whose ids were given. */
function createIds(): IdGenerator & { using<T>(ids: TraceContext, start: () => T): T } {
  let given: TraceContext | undefined;
  return {
    generateTraceId: () => given?.traceId ?? randomHex(16),
    generateSpanId: () => given?.traceparent.split('-')[2] ?? randomHex(8),
    using(ids, start) {
      given = ids;
      try {
        return start();
      } finally {
        given = undefined;
      }
    },
  };
}

function samplerOf({ kind, ratio }: TraceSettings['sampler']): Sampler {
  const byParent = kind.startsWith('parentbased_');
  const root = rootSampler(kind, ratio);
  return byParent ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(kind: string, ratio: number): Sampler {
  if (kind.endsWith('traceidratio')) return new TraceIdRatioBasedSampler(ratio);
  return kind.endsWith('always_off') ? new AlwaysOffSampler() : new AlwaysOnSampler();
}

function remoteParent({ traceId, spanId, flags, tracestate }: ReceivedTrace): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
}

function startSpan(
  tracer: Tracer,
  options: {
    readonly name: string;
    readonly kind: SpanKind;
    readonly parent: Context;
    readonly facts: () => SpanAttributes;
  },
): Span {
  const { name, kind, parent } = options;
  const span = tracer.startSpan(name, { kind }, parent);
  const recording = span.isRecording();
  if (recording) span.setAttributes(defined(options.facts()));
  return {
    trace: contextOf(span),
    child: ({ name: childName, kind: childKind, facts }) =>
      startSpan(tracer, {
        name: childName,
        kind: childKind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        parent: trace.setSpan(parent, span),
        facts,
      }),
    end({ facts, failed }) {
      if (recording) span.setAttributes(defined(facts()));
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function contextOf(span: ApiSpan): Span['trace'] {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const flags = (traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01';
  return { traceId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

function defined(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

interface OtlpExporterOptions {
  readonly settings: TraceSettings;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
  /** Called for each batch; `lostTo` is the cause of its loss. */
  readonly onBatch: (spans: number, lostTo: string | undefined) => void;
}

interface OtlpExporter extends SpanExporter {
  /** Ends the exports in flight at once. Their spans count as lost. */
  abort(): void;
}

/** OTLP/HTTP 1.x through the gateway's own `Sender`. Its `shutdown` waits for the exports in flight. */
export function createOtlpExporter({ settings, sender, clock, userAgent, onBatch }: OtlpExporterOptions): OtlpExporter {
  const serializer = settings.encoding === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const inFlight = new Map<CallScope, Promise<void>>();

  const deliver = async (spans: ReadableSpan[], scope: CallScope): Promise<void> => {
    const bytes = Buffer.from(serializer.serializeRequest(spans) ?? []);
    const call = exportCall(settings, settings.compress ? gzipSync(bytes) : bytes, userAgent);
    for (let attempt = 0; ; attempt += 1) {
      const wait = await deliverOnce({ sender, call, scope, attempt });
      if (wait === undefined) return;
      await pause(scope, wait);
    }
  };

  const delivered = async (spans: ReadableSpan[], scope: CallScope): Promise<ExportResult> => {
    try {
      await deliver(spans, scope);
      onBatch(spans.length, undefined);
      return { code: ExportResultCode.SUCCESS };
    } catch (error) {
      onBatch(spans.length, error instanceof GatewayError ? error.code : 'aborted');
      return { code: ExportResultCode.FAILED };
    } finally {
      inFlight.delete(scope);
      scope.end();
    }
  };

  return {
    export(spans, done) {
      const scope = new CallScope({ total: settings.timeout, clock });
      // oxlint-disable-next-line promise/no-callback-in-promise -- the SDK's interface is a callback
      inFlight.set(scope, delivered(spans, scope).then(done));
    },
    shutdown: async () => {
      await Promise.all(inFlight.values());
    },
    abort() {
      for (const scope of inFlight.keys()) scope.abort(new Error('the gateway stops'));
    },
  };
}

function exportCall(settings: TraceSettings, body: Buffer, userAgent: string): OutboundCall {
  const { endpoint, timeout } = settings;
  return {
    origin: endpoint.origin,
    path: `${endpoint.pathname}${endpoint.search}`,
    method: 'POST',
    headers: [
      'Content-Type',
      settings.encoding === 'json' ? 'application/json' : 'application/x-protobuf',
      ...(settings.compress ? ['Content-Encoding', 'gzip'] : []),
      'User-Agent',
      userAgent,
      ...settings.headers,
    ],
    body,
    stateChanging: false,
    timeouts: { firstByte: timeout, idle: timeout },
    responseLimit: 4 * 1024 ** 2,
  };
}

/** Resolves to undefined once delivered, or to the milliseconds before a repetition (OTLP 1.x, "Failures"). Rejects for other failures. */
async function deliverOnce(options: {
  readonly sender: Sender;
  readonly call: OutboundCall;
  readonly scope: CallScope;
  readonly attempt: number;
}): Promise<number | undefined> {
  const { sender, call, scope, attempt } = options;
  const backoff = 1_000 * 2 ** attempt * (0.5 + Math.random() / 2);
  let reply: UpstreamReply;
  try {
    reply = await sender.send(call, scope);
  } catch (failure) {
    if (mayBeRepeated(failure) && backoff < scope.remaining()) return backoff;
    throw failure;
  }
  reply.discard();
  const { status, headers } = reply;
  if (status >= 200 && status < 300) return undefined;
  const seconds = Number(headerValue(headers, 'retry-after') ?? 0);
  const wait = Math.max(backoff, Number.isFinite(seconds) ? seconds * 1_000 : 0);
  if (repeatable.has(status) && wait < scope.remaining()) return wait;
  throw new GatewayError('upstream-error', `The collector answered ${status}.`);
}

const repeatable: ReadonlySet<number> = new Set([429, 502, 503, 504]);
