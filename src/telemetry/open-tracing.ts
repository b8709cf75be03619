import { readFile } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import type { Tracing } from '#base/tracing.ts';
import type { Sender } from '#outbound/call/sender.ts';
import { readTraceSettings, type TraceSettings } from './trace-settings.ts';

interface TracingNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the sender for the collector. */
  readonly createSender: (tls: CollectorTls) => Sender;
  readonly count: (spans: number, delivered: boolean) => void;
}

/** PEM texts. */
interface CollectorTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
}

/**
 * Starts tracing where the environment variables enable it. Otherwise the result is undefined, and no module of OpenTelemetry is loaded.
 * Rejects where a certificate or key file cannot be read. `close` sends the last spans.
 */
export async function openTracing(needs: TracingNeeds): Promise<(Tracing & { close(): Promise<void> }) | undefined> {
  const { log } = needs;
  const settings = readTraceSettings(needs.environment, (reason) => log.warn('traces', { reason }));
  if (settings === undefined) return undefined;
  const { createOtlpExporter, startTracing } = await import('./create-tracing.ts');
  const sender = needs.createSender(await tlsOf(settings));
  const exporter = createOtlpExporter({ ...needs, settings, sender, onBatch: reporter(needs) });
  const tracing = startTracing({ settings, version: needs.version, exporter });
  log.info('traces are sent to a collector', { address: settings.endpoint.host });
  return {
    request: (request) => tracing.request(request),
    isRecorded: (traceId) => tracing.isRecorded(traceId),
    ended: (step) => tracing.ended(step),
    async close() {
      await tracing.stop();
      await sender.close();
    },
  };
}

async function tlsOf({ files }: TraceSettings): Promise<CollectorTls> {
  const text = async (file: string): Promise<string> => {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      throw new Error(`The file ${file}, which an OTEL_EXPORTER_OTLP_… variable names, cannot be read (${systemCode(error)}).`, {
        cause: error,
      });
    }
  };
  return {
    ...(files.ca === undefined ? {} : { ca: await text(files.ca) }),
    ...(files.cert === undefined ? {} : { cert: await text(files.cert) }),
    ...(files.key === undefined ? {} : { key: new Secret(await text(files.key)) }),
  };
}

/** Counts each batch. Logs when the first is lost, and when the collector takes one again. */
function reporter({ log, count }: Pick<TracingNeeds, 'count' | 'log'>): (spans: number, lostTo: string | undefined) => void {
  let losing = false;
  return (spans, lostTo) => {
    count(spans, lostTo === undefined);
    if (lostTo !== undefined && !losing) log.warn('spans are lost: the collector does not take them', { reason: lostTo });
    if (lostTo === undefined && losing) log.info('the collector takes spans again');
    losing = lostTo !== undefined;
  };
}
