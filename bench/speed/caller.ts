import { connect } from 'node:net';

/** A caller with a connection of its own that is kept, as cheap as can be: the machine is for who is measured. */
export interface Caller {
  /** Writes a request as it is and waits for its reply, one at a time. Rejects where the status is not 200 or the connection ends. */
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
    socket.on('close', () => answer(new Error('the connection was closed')));
    socket.on('connect', () =>
      opened({
        call: (request) =>
          new Promise((resolve, reject) => {
            // It may have been closed while nobody waited.
            if (socket.destroyed) {
              reject(new Error('the connection was closed between two calls'));
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

/** Of a reply by its Content-Length or in chunks (RFC 9112, section 6.3); there are no trailers, and no request is sent before the last reply. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/iu.exec(text.slice(0, head))?.[1];
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= head + 4 + Number(length);
}
