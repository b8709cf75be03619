import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { until } from '../until.ts';
import type { RunServer } from './run-server.ts';

/** An event as it came over the wire. */
interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** A stream of events that a caller reads. */
interface ReadStream {
  readonly response: IncomingMessage;
  readonly events: readonly SentEvent[];
  readonly comments: number;
  /** Undefined while the stream goes on; whether the reply was complete. */
  readonly ended: boolean | undefined;
  /** Waits for so many events. */
  has(count: number): Promise<unknown>;
  /** Waits for the end. */
  end(): Promise<unknown>;
}

interface StreamRequest {
  /** `Authorization`. */
  readonly as: string;
  readonly target: string;
  readonly after?: string;
  /** In place of `as`. */
  readonly cookie?: string;
}

/** Opens a stream, and resolves once its first bytes are there. */
export async function readStream(
  t: TestContext,
  { port }: Pick<RunServer, 'port'>,
  { as, target, after, cookie }: StreamRequest,
): Promise<ReadStream> {
  const caller = cookie === undefined ? { Authorization: as } : { Cookie: cookie };
  const headers = { ...caller, ...(after !== undefined && { 'Last-Event-ID': after }) };
  const request = get({ host: '127.0.0.1', port, path: target, headers, agent: false });
  t.after(() => request.destroy());
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const state = { events: [] as SentEvent[], comments: 0, ended: undefined as boolean | undefined };
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block === ':') state.comments += 1;
      else state.events.push(eventOf(block));
    }
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    state.ended = response.complete;
  });
  if (response.statusCode === 200)
    await until('the stream begins', () => state.comments + state.events.length > 0 || state.ended !== undefined);
  return {
    response,
    get events() {
      return state.events;
    },
    get comments() {
      return state.comments;
    },
    get ended() {
      return state.ended;
    },
    has: (count) => until(`${count} events have come`, () => state.events.length >= count),
    end: () => until('the stream has ended', () => state.ended !== undefined),
  };
}

function eventOf(block: string): SentEvent {
  const found = /^id: (\d+)\nevent: ([^\n]*)\ndata: ([^\n]*)$/u.exec(block);
  assert.ok(found, block);
  const [, id = '', type = '', data = ''] = found;
  return { id, type, data };
}
