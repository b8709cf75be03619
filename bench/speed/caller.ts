import { connect } from 'node:net';

/** A caller with one connection that it keeps. It uses little processor time, which the measured process needs. */
export interface Caller {
  /** Writes one request unchanged and waits for its reply. Rejects where the status is not 200 or the connection ends. */
  call(request: Buffer): Promise<void>;
  close(): void;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export function openCaller(port: number): Promise<Caller> {
  return new Promise((opened, failed) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    let waiting: Waiting | undefined;
    const answer = (error?: Error): void => {
      const { resolve, reject } = waiting ?? { resolve: () => undefined, reject: failed };
      waiting = undefined;
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!isWhole(text)) return;
      const right = text.startsWith('HTTP/1.1 200');
      const error = right ? undefined : new Error(text.slice(0, 600));
      text = '';
      answer(error);
    });
    socket.on('error', (error) => answer(error));
    socket.on('close', () => answer(new Error('the connection ended')));
    socket.on('connect', () =>
      opened({
        call: (request) =>
          new Promise((resolve, reject) => {
            // The connection may have ended between two calls.
            if (socket.destroyed) {
              reject(new Error('the connection ended between two calls'));
              return;
            }
            waiting = { resolve, reject };
            socket.write(request);
          }),
        close: () => socket.destroy(),
      }),
    );
  });
}

/** Whether a reply is whole, by Content-Length or chunks (RFC 9112 section 6.3). There are no trailers, and no pipelining. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/iu.exec(text.slice(0, head))?.[1];
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= head + 4 + Number(length);
}
