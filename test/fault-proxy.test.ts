import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { type FaultKind, type FaultPlan, faultKinds, faultPlan } from './support/faults/fault-plan.ts';
import { type FaultProxy, faultProxy } from './support/faults/fault-proxy.ts';
import { listen } from './support/listen.ts';
import { until } from './support/until.ts';

const question = 'question';
const answer = 'the answer to it';

interface Ended {
  readonly text: string;
  /** The code of its error, or `end`. */
  readonly how: string;
  readonly chunks: number;
}

/** An upstream that answers each `question`, behind a proxy with the same fault for every connection. */
async function setUp(t: TestContext, plan: Partial<FaultPlan> & { readonly fault: FaultKind }, lifetime?: number) {
  const seen: string[] = [];
  const server = createServer((socket) => {
    let text = '';
    const at = seen.push('') - 1;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      seen[at] += chunk.toString();
      for (; text.startsWith(question); text = text.slice(question.length)) socket.write(answer);
    });
  });
  const { port, open } = await listen(t, server);
  const full: FaultPlan = { exchange: 0, bytes: 0, milliseconds: 0, reset: false, ...plan };
  const proxy = await faultProxy(t, { port, plan: () => full, ...(lifetime === undefined ? {} : { lifetime }) });
  return { proxy, seen, open };
}

async function dial(proxy: FaultProxy): Promise<Socket> {
  const [host = '', port] = proxy.authority.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  return socket;
}

/** Waits for the event `close`. `once` of node:events rejects on an error. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

/** Sends `times` questions, each after the answer to the one before, and reads to the end of the connection. */
async function ask(proxy: FaultProxy, times = 1): Promise<Ended> {
  const socket = await dial(proxy);
  let text = '';
  let how = 'end';
  let chunks = 0;
  let asked = 1;
  socket.on('error', (error: NodeJS.ErrnoException) => {
    how = error.code ?? 'unknown';
  });
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    chunks += 1;
    if (text.length < asked * answer.length) return;
    asked += 1;
    if (asked <= times) socket.write(question);
    else socket.end();
  });
  socket.write(question);
  await closed(socket);
  return { text, how, chunks };
}

/** No connection is open any more, neither at the proxy nor at the upstream. */
async function gone(proxy: FaultProxy, open: ReadonlySet<Socket>): Promise<void> {
  await until('every connection is closed', () => proxy.open + open.size === 0);
}

describe('a fault proxy', { timeout: 30_000 }, () => {
  for (const fault of ['none', 'latency', 'bandwidth', 'slicer', 'slow_close'] as const) {
    test(`carries every byte with the fault ${fault}`, async (t) => {
      const { proxy, seen, open } = await setUp(t, { fault, bytes: 3, milliseconds: 5 });
      const { text, how, chunks } = await ask(proxy, 3);
      assert.equal(text, answer.repeat(3));
      assert.equal(how, 'end');
      assert.deepEqual(seen, [question.repeat(3)]);
      if (fault === 'slicer' || fault === 'bandwidth') assert.ok(chunks > 6, `${chunks} chunks`);
      await gone(proxy, open);
      assert.deepEqual(proxy.met, { [fault]: 1 });
    });
  }

  for (const reset of [false, true]) {
    for (const bytes of [0, 1, 7]) {
      test(`cuts a request at byte ${bytes}, ${reset ? 'by reset' : 'with FIN'}`, async (t) => {
        const { proxy, seen, open } = await setUp(t, { fault: 'cut-request', exchange: 1, bytes, reset });
        const { text, how } = await ask(proxy, 2);
        assert.equal(text, answer);
        assert.equal(how, reset ? 'ECONNRESET' : 'end');
        // A reset may lose bytes that are on their way, and never adds any.
        const most = question + question.slice(0, bytes);
        assert.ok(reset ? most.startsWith(seen[0] ?? '?') : seen[0] === most, `saw ${seen[0]}`);
        await gone(proxy, open);
      });

      test(`cuts a reply at byte ${bytes}, ${reset ? 'by reset' : 'with FIN'}`, async (t) => {
        const { proxy, seen, open } = await setUp(t, { fault: 'cut-reply', exchange: 1, bytes, reset });
        const { text, how } = await ask(proxy, 2);
        assert.equal(how, reset ? 'ECONNRESET' : 'end');
        const most = answer + answer.slice(0, bytes);
        assert.ok(reset ? most.startsWith(text) : text === most, text);
        assert.deepEqual(seen, [question.repeat(2)]);
        await gone(proxy, open);
      });
    }
  }

  test('resets before a request, of which no byte reaches the upstream', async (t) => {
    const { proxy, seen, open } = await setUp(t, { fault: 'reset-before-request', exchange: 1 });
    assert.equal((await ask(proxy, 2)).how, 'ECONNRESET');
    assert.deepEqual(seen, [question]);
    await gone(proxy, open);
  });

  test('resets after a request, before its reply arrives', async (t) => {
    const { proxy, seen, open } = await setUp(t, { fault: 'reset-after-request', exchange: 1 });
    const { text, how } = await ask(proxy, 2);
    assert.ok(answer.startsWith(text), text);
    assert.equal(how, 'ECONNRESET');
    assert.deepEqual(seen, [question.repeat(2)]);
    await gone(proxy, open);
  });

  for (const fault of ['drop-reply', 'timeout'] as const) {
    test(`holds the reply back and then closes: ${fault}`, async (t) => {
      const { proxy, seen, open } = await setUp(t, { fault, milliseconds: 20 });
      assert.deepEqual(await ask(proxy), { text: '', how: 'end', chunks: 0 });
      assert.deepEqual(seen, [fault === 'timeout' ? '' : question]);
      await gone(proxy, open);
    });
  }

  test('closes one half, towards the gateway, which gets no reply', async (t) => {
    const { proxy, seen, open } = await setUp(t, { fault: 'half-close', reset: true });
    assert.equal((await ask(proxy)).text, '');
    assert.deepEqual(seen, [question]);
    await gone(proxy, open);
  });

  test('closes one half, towards the upstream, whose reply still arrives', async (t) => {
    const { proxy, seen, open } = await setUp(t, { fault: 'half-close' });
    assert.equal((await ask(proxy)).text, answer);
    assert.deepEqual(seen, [question]);
    await gone(proxy, open);
  });

  test('lets a number of reply bytes through: limit_data', async (t) => {
    const { proxy, open } = await setUp(t, { fault: 'limit_data', bytes: answer.length + 5 });
    assert.equal((await ask(proxy, 3)).text, answer + answer.slice(0, 5));
    await gone(proxy, open);
  });

  test('resets after some milliseconds: reset_peer', async (t) => {
    const { proxy, open } = await setUp(t, { fault: 'reset_peer', milliseconds: 30 });
    assert.equal((await ask(proxy, 100_000)).how, 'ECONNRESET');
    await gone(proxy, open);
  });

  test('refuses connections while it is down, and accepts them again at the same address', async (t) => {
    let fault: FaultKind = 'down';
    const { port } = await listen(
      t,
      createServer((socket) => void socket.end(answer)),
    );
    const proxy = await faultProxy(t, { port, plan: () => ({ fault, exchange: 0, bytes: 0, milliseconds: 1_000, reset: true }) });
    // The first connection makes the proxy go down and is reset, perhaps before its `connect` event.
    const first = await dial(proxy).catch(() => undefined);
    first?.on('error', () => {});
    if (first !== undefined) await closed(first);
    await assert.rejects(dial(proxy), { code: 'ECONNREFUSED' });
    fault = 'none';
    await until('the proxy accepts connections', async () => {
      const back = await dial(proxy).catch(() => undefined);
      back?.destroy();
      return back !== undefined;
    });
  });

  test('ends a connection after its lifetime', async (t) => {
    const { proxy, open } = await setUp(t, { fault: 'drop-reply', milliseconds: 200 }, 100);
    assert.equal((await ask(proxy)).text, '');
    await gone(proxy, open);
  });

  test('has the same plan for the same seed, and every fault in 2,000 plans', () => {
    const plans = (seed: number): readonly FaultPlan[] =>
      Array.from({ length: 2_000 }, (_, number) => faultPlan(seed, 0, number));
    assert.deepEqual(plans(7), plans(7));
    assert.notDeepEqual(plans(7), plans(8));
    assert.deepEqual(new Set(plans(7).map(({ fault }) => fault)), new Set(faultKinds));
  });
});
