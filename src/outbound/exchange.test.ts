import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Dispatcher } from 'undici';
import { Exchange } from './exchange.ts';
import type { OutboundCall } from './outbound-call.ts';

// undici 8 puts a request back into its queue where a connection closes with an informational error, and has then started it twice.
// With one request at a time no fault of a network brings that about, so that test/never-twice.test.ts cannot: here it is played.

interface Played extends Dispatcher.DispatchController {
  readonly abortedWith: Error | undefined;
}

function controller(): Played {
  let abortedWith: Error | undefined;
  return {
    rawHeaders: null,
    rawTrailers: null,
    get abortedWith() {
      return abortedWith;
    },
    get aborted() {
      return abortedWith !== undefined;
    },
    get reason() {
      return abortedWith ?? null;
    },
    paused: false,
    abort: (reason) => {
      abortedWith = reason;
    },
    pause: () => {},
    resume: () => {},
  };
}

function call(method: OutboundCall['method']): OutboundCall {
  const stateChanging = method !== 'GET';
  const timeouts = { firstByte: 1_000, idle: 1_000 };
  return { origin: 'http://127.0.0.1:1', path: '/', method, headers: [], stateChanging, timeouts, responseLimit: 1_000 };
}

describe('a request that undici would send a second time', () => {
  for (const method of ['DELETE', 'PATCH', 'POST', 'PUT'] as const) {
    test(`is stopped before it is written where it is a ${method}, and its outcome is unknown`, async () => {
      const exchange = new Exchange(call(method));
      const [first, second] = [controller(), controller()];
      exchange.onRequestStart(first);
      assert.equal(first.abortedWith, undefined);
      exchange.onRequestStart(second);
      assert.match(String(second.abortedWith), /second sending/);
      await assert.rejects(exchange.reply, { code: 'outcome-unknown' });
    });
  }

  test('goes where it is a GET', async () => {
    const exchange = new Exchange(call('GET'));
    const [first, second] = [controller(), controller()];
    exchange.onRequestStart(first);
    exchange.onRequestStart(second);
    assert.equal(second.abortedWith, undefined);
    exchange.abort(new Error('the test is over'));
    await assert.rejects(exchange.reply);
  });
});
