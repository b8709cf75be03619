/** One HTTP/1.1 message as read. `complete` is false where the connection ended before the end of the message. */
export interface Message {
  readonly startLine: string;
  /** The head as sent, Latin-1, without the empty line. */
  readonly head: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  readonly complete: boolean;
}

type State = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailers' | 'until-close' | 'broken';

interface Head {
  readonly text: string;
  readonly startLine: string;
  readonly headers: readonly (readonly [string, string])[];
}

/** The values of a header, in order; names compare without regard to case. */
export function headerValues(headers: readonly (readonly [string, string])[], name: string): readonly string[] {
  return headers.filter(([known]) => known.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/**
 * Reads HTTP/1.1 messages from a byte stream (RFC 9112). The parser is strict, and is not the one of the gateway.
 * Interim 1xx replies are counted and skipped.
 */
export class MessageReader {
  readonly #kind: 'request' | 'reply';
  #pending: Buffer = Buffer.alloc(0);
  #state: State = 'head';
  #head: Head | undefined;
  #body: Buffer[] = [];
  #left = 0;
  interim: number[] = [];

  constructor(kind: 'request' | 'reply') {
    this.#kind = kind;
  }

  /** The head of the current message, once complete. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** Bytes after the last complete message. */
  get unread(): Buffer {
    return this.#pending;
  }

  push(chunk: Buffer): Message[] {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const before = this.#pending.length;
      const state = this.#state;
      const message = this.#step();
      if (message !== undefined) messages.push(message);
      if (message === undefined && before === this.#pending.length && state === this.#state) return messages;
    }
  }

  /** The sender closed the connection; answers the incomplete message, if any. */
  end(): Message | undefined {
    if (this.#head === undefined) return undefined;
    return this.#finish(this.#state === 'until-close');
  }

  #step(): Message | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead();
      case 'length':
      case 'chunk-data':
        return this.#readData();
      case 'chunk-size':
        return this.#readChunkSize();
      case 'chunk-end':
        if (this.#line() !== undefined) this.#state = 'chunk-size';
        return undefined;
      case 'trailers': {
        const line = this.#line();
        return line === '' ? this.#finish(true) : undefined;
      }
      case 'until-close':
        this.#take(this.#pending.length);
        return undefined;
      case 'broken':
        break;
    }
    return undefined;
  }

  #readHead(): Message | undefined {
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const text = this.#pending.subarray(0, end).toString('latin1');
    this.#pending = this.#pending.subarray(end + 4);
    const [startLine = '', ...lines] = text.split('\r\n');
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    const status = this.#kind === 'reply' ? Number(startLine.split(' ')[1]) : 0;
    if (status >= 100 && status < 200) {
      this.interim.push(status);
      return undefined;
    }
    this.#head = { text, startLine, headers };
    return this.#chooseFraming(headers, status);
  }

  #chooseFraming(headers: Head['headers'], status: number): Message | undefined {
    const length = headerValues(headers, 'content-length')[0];
    if (status === 204 || status === 304) return this.#finish(true);
    if (/chunked/i.test(headerValues(headers, 'transfer-encoding').join())) {
      this.#state = 'chunk-size';
    } else if (length !== undefined) {
      this.#left = Number(length);
      if (this.#left === 0) return this.#finish(true);
      this.#state = 'length';
    } else if (this.#kind === 'request') {
      return this.#finish(true);
    } else {
      this.#state = 'until-close';
    }
    return undefined;
  }

  #readData(): Message | undefined {
    this.#take(Math.min(this.#left, this.#pending.length));
    if (this.#left > 0) return undefined;
    if (this.#state === 'length') return this.#finish(true);
    this.#state = 'chunk-end';
    return undefined;
  }

  #readChunkSize(): undefined {
    const line = this.#line();
    if (line === undefined) return;
    if (!/^[0-9a-f]+\s*(;.*)?$/i.test(line)) {
      this.#state = 'broken';
      return;
    }
    this.#left = Number.parseInt(line, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk-data';
  }

  #line(): string | undefined {
    const end = this.#pending.indexOf('\r\n');
    if (end < 0) return undefined;
    const line = this.#pending.subarray(0, end).toString('latin1');
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }

  #take(count: number): void {
    if (count === 0) return;
    this.#body.push(this.#pending.subarray(0, count));
    this.#pending = this.#pending.subarray(count);
    this.#left -= count;
  }

  #finish(complete: boolean): Message {
    const head = this.#head ?? { text: '', startLine: '', headers: [] };
    const body = Buffer.concat(this.#body);
    this.#head = undefined;
    this.#body = [];
    this.#left = 0;
    this.#state = 'head';
    return { startLine: head.startLine, head: head.text, headers: head.headers, body, complete };
  }
}
