import { createServer, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';
import { until } from '../until.ts';

/** A span of OTLP's JSON, with its attributes by name. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  /** 2 is an error. */
  readonly status: { readonly code: number };
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** A collector of traces on loopback for OTLP/HTTP, which reads batches in JSON. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The attributes of the resource in the last batch. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** The request of each batch, in the order of arrival. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }[];
  /** Sets the status of the replies from now on; with `silence` there are none. */
  answer(status: number | 'silence', headers?: Readonly<Record<string, string>>): void;
  /** The spans of a trace, once `count` of them have arrived. */
  trace(traceId: string, count: number): Promise<readonly ReceivedSpan[]>;
}

type Value = { readonly stringValue?: string; readonly intValue?: string | number; readonly boolValue?: boolean };
interface Attributed {
  readonly attributes?: readonly { readonly key: string; readonly value: Value }[];
}
interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: Attributed;
    readonly scopeSpans: readonly { readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & Attributed)[] }[];
  }[];
}

export async function collector(owner: Owner): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders; bytes: Buffer }[] = [];
  let resource: Readonly<Record<string, unknown>> = {};
  let answer: number | 'silence' = 200;
  let more: Readonly<Record<string, string>> = {};
  const take = (batch: Batch): void => {
    for (const each of batch.resourceSpans) {
      resource = byName(each.resource);
      for (const span of each.scopeSpans.flatMap((scope) => scope.spans)) spans.push({ ...span, attributes: byName(span) });
    }
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      requests.push({ path: request.url ?? '', headers: request.headers, bytes });
      if (answer === 'silence') return;
      if (answer === 200 && request.headers['content-type'] === 'application/json') take(JSON.parse(bytes.toString()) as Batch);
      response.writeHead(answer, { 'Content-Type': 'application/json', ...more }).end('{}');
    });
  });
  const port = await listening(server);
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    requests,
    get resource() {
      return resource;
    },
    answer: (status, headers = {}) => {
      answer = status;
      more = headers;
    },
    trace: (traceId, count) =>
      until(`the trace has ${count} spans`, () => {
        const found = spans.filter((span) => span.traceId === traceId);
        return found.length >= count && found;
      }),
  };
}

function byName({ attributes = [] }: Attributed): Record<string, string | number | boolean | undefined> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  );
}
