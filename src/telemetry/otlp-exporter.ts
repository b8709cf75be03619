import { gzipSync } from 'node:zlib';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope, pause } from '#outbound/call/call-scope.ts';
import { headerValue, type OutboundCall, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import { mayBeRepeated, type Sender } from '#outbound/call/sender.ts';
import type { TraceSettings } from './trace-settings.ts';

interface OtlpExporterOptions {
  readonly settings: TraceSettings;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly userAgent: string;
  /** Called for each batch; `lostTo` is the cause of its loss. */
  readonly onBatch: (spans: number, lostTo: string | undefined) => void;
}

export interface OtlpExporter extends SpanExporter {
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
