import { type Agent, request } from 'node:https';

export interface BalancedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface BalancedRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The caller's own address, of 127.0.0.0/8. */
  readonly from?: string;
}

/** One request to a load balancer on this port of 127.0.0.1; rejects without a complete reply. */
export function sendBalanced(agent: Agent, port: number, asked: BalancedRequest): Promise<BalancedReply> {
  const { method = 'GET', path, headers = {}, body, from } = asked;
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...length, ...headers },
        ...(from === undefined ? {} : { localAddress: from }),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (data: string) => {
          text += data;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
