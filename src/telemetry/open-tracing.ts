import { readFile } from 'node:fs/promises';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import { systemCode } from '#base/system-code.ts';
import type { Tracing } from '#base/tracing.ts';
import type { Sender } from '#outbound/sender.ts';
import { readTraceSettings, type TraceSettings } from './trace-settings.ts';

interface TracingNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
  /** The way to the collector. */
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
 * Traces where the environment asks for them, else undefined: then nothing of OpenTelemetry is even loaded. Rejects where a file of
 * certificates cannot be read. Ending it sends the last spans.
 */
export async function openTracing(needs: TracingNeeds): Promise<(Tracing & { close(): Promise<void> }) | undefined> {
  const { log } = needs;
  const settings = readTraceSettings(needs.environment, (reason) => log.warn('traces', { reason }));
  if (settings === undefined) return undefined;
  const [{ startTracing }, { createOtlpExporter }] = await Promise.all([import('./tracing.ts'), import('./otlp-exporter.ts')]);
  const sender = needs.createSender(await tlsOf(settings));
  const exporter = createOtlpExporter({ ...needs, settings, sender, onBatch: reporter(needs) });
  const tracing = startTracing({ settings, version: needs.version, exporter });
  log.info('traces go to a collector', { address: settings.endpoint.host });
  return {
    request: (request) => tracing.request(request),
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
      throw new Error(
        `The file ${file}, which a variable of traces names (OTEL_EXPORTER_OTLP_…), cannot be read (${systemCode(error)}).`,
        {
          cause: error,
        },
      );
    }
  };
  return {
    ...(files.ca === undefined ? {} : { ca: await text(files.ca) }),
    ...(files.cert === undefined ? {} : { cert: await text(files.cert) }),
    ...(files.key === undefined ? {} : { key: new Secret(await text(files.key)) }),
  };
}

/** Counts each batch; logs when the first is lost and when one gets through again. */
function reporter({ log, count }: Pick<TracingNeeds, 'count' | 'log'>): (spans: number, lostTo: string | undefined) => void {
  let losing = false;
  return (spans, lostTo) => {
    count(spans, lostTo === undefined);
    if (lostTo !== undefined && !losing) log.warn('spans are lost: the collector does not take them', { reason: lostTo });
    if (lostTo === undefined && losing) log.info('the collector takes spans again');
    losing = lostTo !== undefined;
  };
}
