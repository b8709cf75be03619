import { type IncomingHttpHeaders, request } from 'node:http';

/** One request to a demo orchestrator, for tests and examples. */
export interface DemoCall {
  readonly method?: string;
  /** The request target, sent unchanged. */
  readonly path: string;
  /** Default `admin:admin`; null sends no credentials. */
  readonly credentials?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface DemoAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends one request on a new connection and reads the whole reply. */
export function callDemo(url: string, { method = 'GET', path, credentials, headers, body }: DemoCall): Promise<DemoAnswer> {
  const { hostname, port } = new URL(url);
  const given = credentials === undefined ? 'admin:admin' : credentials;
  return new Promise((resolve, reject) => {
    const message = request({
      hostname,
      port,
      path,
      method,
      agent: false,
      headers: {
        ...(given === null ? {} : { Authorization: `Basic ${Buffer.from(given).toString('base64')}` }),
        ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
        ...headers,
      },
    });
    message.on('error', reject);
    message.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString('utf8') });
      });
    });
    message.end(body);
  });
}
