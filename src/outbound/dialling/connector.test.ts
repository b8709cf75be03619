import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect as connectTcp, createServer, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '#base/gateway-error.ts';
import { sendThrough } from '../../../test/support/callers/send-through.ts';
import { allClosed, listen } from '../../../test/support/listen.ts';
import { createSender } from '../call/sender.ts';
import { createDestinationPolicy, type DestinationPolicy } from '../policy/destination-policy.ts';
import { createConnector } from './connector.ts';
import { dialDirectly } from './dial.ts';

const timeouts = { dns: 5_000, connect: 5_000 };

function policyOf(allow: readonly string[], deny: readonly string[] = []): DestinationPolicy {
  return createDestinationPolicy({ allow, deny, ownListeners: () => [] });
}

function answers(...addresses: readonly string[]): () => Promise<readonly string[]> {
  return () => Promise.resolve(addresses);
}

function failsWith(code: string, text: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  };
}

test('R3: requests use the checked connection, also the next one', async (t) => {
  const server = createHttpServer((incoming, outgoing) => outgoing.end(`${incoming.headers.host} ${incoming.url}`));
  const { port, accepted } = await listen(t, server);
  const sender = createSender({
    connect: createConnector({ policy: policyOf(['*.lab.example']), resolve: answers('127.0.0.1'), timeouts }),
  });
  t.after(() => sender.close());
  for (const path of ['/one', '/two']) {
    const { body } = await sendThrough(sender, `http://a.lab.example:${port}${path}`);
    assert.equal(body.toString(), `a.lab.example:${port} ${path}`);
  }
  assert.equal(accepted(), 1);
});

test('the caller gets the error of the connector unchanged', async (t) => {
  const { port, accepted } = await listen(t, createServer());
  const sender = createSender({ connect: createConnector({ policy: policyOf([]), resolve: answers('127.0.0.1'), timeouts }) });
  t.after(() => sender.close());
  await assert.rejects(
    sendThrough(sender, `http://far.example:${port}/`),
    failsWith('destination-denied', /127\.0\.0\.1.*loopback/u),
  );
  await assert.rejects(sendThrough(sender, `https://127.0.0.1:${port}/`), failsWith('destination-denied', /loopback/u));
  await assert.rejects(sendThrough(sender, `https://[::1]:${port}/`), failsWith('destination-denied', /\[::1\]/u));
  assert.equal(accepted(), 0);
});

test('R5: a name that changes its answer has one look-up for each call, and the call dials that answer', async () => {
  const dialled: string[] = [];
  const changing = [['93.184.215.14'], ['127.0.0.1']];
  const connect = createConnector({
    policy: policyOf([]),
    resolve: () => Promise.resolve(changing.shift() ?? assert.fail('a third look-up')),
    timeouts,
    dial: ({ host }) => {
      dialled.push(host);
      const socket = new Socket();
      process.nextTick(() => socket.destroy(Object.assign(new Error('stub'), { code: 'ECONNREFUSED' })));
      return socket;
    },
  });
  await assert.rejects(connect('http://rebind.example/'), failsWith('upstream-connect-failed', /refused/u));
  await assert.rejects(connect('https://rebind.example/'), failsWith('destination-denied', /127\.0\.0\.1/u));
  assert.deepEqual(dialled, ['93.184.215.14']);
});

test('R6: a denied name is not looked up, and a name with one denied address is not dialled', async () => {
  const asked: string[] = [];
  const dialled: string[] = [];
  const connect = createConnector({
    policy: policyOf([], ['bad.example']),
    resolve: (host) => {
      asked.push(host);
      return Promise.resolve(['8.8.8.8', '10.0.0.1']);
    },
    timeouts,
    dial: ({ host }) => {
      dialled.push(host);
      return new Socket();
    },
  });
  await assert.rejects(connect('http://localhost/'), failsWith('destination-denied', /name of this machine/u));
  await assert.rejects(connect('http://bad.example/'), failsWith('destination-denied', /outbound\.deny/u));
  assert.deepEqual(asked, []);
  await assert.rejects(
    connect('http://mixed.example/'),
    failsWith('destination-denied', /10\.0\.0\.1:80, to which mixed\.example resolves/u),
  );
  assert.deepEqual([asked, dialled], [['mixed.example'], []]);
});

test('R6: a denied address is found at any place among the answers, and so is a text that is no address', async () => {
  for (const denied of ['169.254.169.254', '::1', '::ffff:192.168.0.1', 'fe80::1%lo', 'nonsense']) {
    for (const all of [
      ['8.8.8.8', denied],
      [denied, '8.8.8.8'],
    ]) {
      const dial = (): Socket => assert.fail(`dialled for ${all.join()}`);
      const connect = createConnector({ policy: policyOf([]), resolve: answers(...all), timeouts, dial });
      await assert.rejects(connect('https://mixed.example/'), { code: 'destination-denied' }, all.join());
    }
  }
});

test('R3: an address is not looked up', async () => {
  const dialled: string[] = [];
  const connect = createConnector({
    policy: policyOf([]),
    resolve: () => assert.fail('a look-up'),
    timeouts,
    dial: ({ host }) => {
      dialled.push(host);
      const socket = new Socket();
      process.nextTick(() => socket.destroy(Object.assign(new Error('stub'), { code: 'ECONNREFUSED' })));
      return socket;
    },
  });
  await assert.rejects(connect('https://[2606:4700::1111]:8443'), { code: 'upstream-connect-failed' });
  assert.deepEqual(dialled, ['2606:4700::1111']);
});

test('a connector without a policy dials any address, by literal and by name', async (t) => {
  const { port } = await listen(t, createServer());
  const connect = createConnector({ resolve: answers('127.0.0.1'), timeouts });
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://0.0.0.0:${port}`]) {
    const socket = await connect(origin);
    assert.equal(socket.remoteAddress, '127.0.0.1');
    socket.destroy();
  }
});

test('the checked addresses are tried in order until one answers', async (t) => {
  const { port } = await listen(t, createServer());
  const dialled: string[] = [];
  const connect = createConnector({
    resolve: answers('127.0.0.2', '127.0.0.3', '127.0.0.1', '127.0.0.4'),
    timeouts,
    dial: (destination) => {
      dialled.push(destination.host);
      return dialDirectly(destination);
    },
  });
  const socket = await connect(`http://far.example:${port}`);
  socket.destroy();
  assert.deepEqual(dialled, ['127.0.0.2', '127.0.0.3', '127.0.0.1']);
});

test('a refused connection is upstream-connect-failed and names each address and cause', async (t) => {
  const server = createServer();
  const { port } = await listen(t, server);
  await new Promise((resolve) => server.close(resolve));
  const connect = createConnector({ resolve: answers('127.0.0.1', '127.0.0.2'), timeouts });
  await assert.rejects(
    connect(`http://far.example:${port}`),
    failsWith(
      'upstream-connect-failed',
      new RegExp(`127\\.0\\.0\\.1:${port} refused the connection \\(ECONNREFUSED\\); 127\\.0\\.0\\.2:${port} refused`, 'u'),
    ),
  );
});

test('a connection that is never made is upstream-timeout with phase, address and limit, and its socket is closed', async () => {
  const sockets: Socket[] = [];
  const dial = (): Socket => {
    const socket = new Socket();
    sockets.push(socket);
    return socket;
  };
  const connect = createConnector({ resolve: answers('10.0.0.1', '10.0.0.2'), timeouts: { dns: 1_000, connect: 60 }, dial });
  await assert.rejects(
    connect('http://10.0.0.9:81/'),
    failsWith('upstream-timeout', /60 ms \(phase connect.*10\.0\.0\.9:81.*timeouts\.connect/u),
  );
  assert.ok(sockets.every((socket) => socket.destroyed));
});

test('an address that never answers leaves time for the next one', async (t) => {
  const { port } = await listen(t, createServer());
  const silent = new Socket();
  const connect = createConnector({
    resolve: answers('127.0.0.9', '127.0.0.1'),
    timeouts: { dns: 1_000, connect: 3_000 },
    dial: (destination) => (destination.host === '127.0.0.9' ? silent : dialDirectly(destination)),
  });
  const socket = await connect(`http://far.example:${port}`);
  socket.destroy();
  assert.ok(silent.destroyed);
});

test('R3: a connection to another address than the checked one is denied and closed', async (t) => {
  const { port, open } = await listen(t, createServer());
  const allow = ['0.0.0.0', '127.0.0.2', '::ffff:127.0.0.1'];
  const straight = createConnector({ policy: policyOf(allow), resolve: answers('127.0.0.2'), timeouts });
  await assert.rejects(straight(`http://0.0.0.0:${port}`), failsWith('destination-denied', /ended at 127\.0\.0\.1/u));
  const diverted = createConnector({
    policy: policyOf(allow),
    resolve: answers('127.0.0.2'),
    timeouts,
    dial: () => connectTcp(port, '127.0.0.1'),
  });
  await assert.rejects(diverted(`http://far.example:${port}`), failsWith('destination-denied', /127\.0\.0\.2/u));
  await allClosed(open);
  const mapped = await straight(`http://[::ffff:127.0.0.1]:${port}`);
  mapped.destroy();
});

/** An upstream in a thread of its own. It resets its connection when `reset` is called, which returns after that. */
async function resettingUpstream(t: TestContext): Promise<{ readonly port: number; readonly reset: () => void }> {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:net').createServer((socket) => {
      Atomics.wait(workerData, 0, 0);
      socket.on('close', () => {
        Atomics.store(workerData, 1, 1);
        Atomics.notify(workerData, 1);
      });
      socket.resetAndDestroy();
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;
  const [asked, done] = [0, 1];
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const far = new Worker(code, { eval: true, workerData: shared });
  t.after(() => far.terminate());
  const [port] = (await once(far, 'message')) as [number];
  const reset = (): void => {
    Atomics.store(shared, asked, 1);
    Atomics.notify(shared, asked);
    Atomics.wait(shared, done, 0);
  };
  return { port, reset };
}

test('an upstream that resets the connection before its address is compared is upstream-connect-failed, not denied', async (t) => {
  const { port, reset } = await resettingUpstream(t);
  const connect = createConnector({
    policy: policyOf(['127.0.0.1']),
    resolve: answers('127.0.0.1'),
    timeouts,
    dial: (destination) => dialDirectly(destination).on('connect', reset),
  });
  await assert.rejects(
    connect(`http://127.0.0.1:${port}`),
    failsWith(
      'upstream-connect-failed',
      new RegExp(`127\\.0\\.0\\.1:${port} closed the connection at once \\(ECONNRESET\\)`, 'u'),
    ),
  );
});

test('a result of the look-up that is not an address is never dialled', async () => {
  const dialled: string[] = [];
  const dial = ({ host }: { host: string }): Socket => {
    dialled.push(host);
    return new Socket();
  };
  const free = createConnector({ resolve: answers('far.example'), timeouts, dial });
  await assert.rejects(free('http://far.example/'), failsWith('upstream-dns-failed', /no usable address/u));
  await assert.rejects(
    createConnector({ resolve: answers(), timeouts, dial })('http://far.example/'),
    failsWith('upstream-dns-failed', /no usable/u),
  );
  const judged = createConnector({
    policy: policyOf(['far.example']),
    resolve: answers('10.0.0.1', 'far.example'),
    timeouts,
    dial,
  });
  await assert.rejects(judged('http://far.example/'), failsWith('destination-denied', /not a plain IP address/u));
  assert.deepEqual(dialled, []);
});

test('the connector passes on the error of the resolver and gives it its time limit', async () => {
  const limits: number[] = [];
  const connect = createConnector({
    resolve: (host, { timeout }) => {
      limits.push(timeout);
      return Promise.reject(new GatewayError('upstream-dns-failed', `no ${host}`));
    },
    timeouts: { dns: 1_234, connect: 1 },
  });
  await assert.rejects(connect('http://gone.example/'), failsWith('upstream-dns-failed', /no gone\.example/u));
  assert.deepEqual(limits, [1_234]);
});

test('an unexpected failure becomes a GatewayError that quotes nothing of its cause', async () => {
  const connect = createConnector({ resolve: () => Promise.reject(new TypeError('inner matters')), timeouts });
  await assert.rejects(
    connect('http://far.example/'),
    failsWith('upstream-connect-failed', /^No connection to far\.example could be made\.$/u),
  );
});

test('an upstream is dialled again after a failed connection', async (t) => {
  const server = createHttpServer((_incoming, outgoing) => outgoing.end('ok'));
  const { port } = await listen(t, server);
  let times = 0;
  const connect = createConnector({
    resolve: () => {
      times += 1;
      return times === 1 ? Promise.reject(new GatewayError('upstream-dns-failed', 'not yet')) : Promise.resolve(['127.0.0.1']);
    },
    timeouts,
  });
  const sender = createSender({ connect });
  t.after(() => sender.close());
  await assert.rejects(sendThrough(sender, `http://far.example:${port}/`), failsWith('upstream-dns-failed', /not yet/u));
  const { body } = await sendThrough(sender, `http://far.example:${port}/`);
  assert.equal(body.toString(), 'ok');
});
