import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { listen } from '../../test/support/listen.ts';
import { json, type Route, type RouteReply } from './route.ts';
import { createRouteRunner, type RouteRunnerOptions } from './route-runner.ts';
import { monitoring } from './routes/route-traits.ts';

/** The reply that a caller gets from a route with this handler, and the cause that the route failed with. */
async function answered(
  t: TestContext,
  handle: () => RouteReply | Promise<RouteReply>,
): Promise<{ readonly status: number; readonly text: string; readonly cause: string | undefined }> {
  const options = { log: noLog, rateLimit: () => undefined, server: { requestBodyLimit: 1_000 } };
  const route: Route = { method: 'GET', url: '/a', open: true, handle, ...monitoring };
  const run = createRouteRunner(options as unknown as RouteRunnerOptions)(route);
  let failure: GatewayError | undefined;
  const scope = {
    requestId: 'one',
    sourceAddress: '127.0.0.1',
    span: undefined,
    record: {
      set failure(known: GatewayError) {
        failure = known;
      },
    },
  };
  const server = createServer((raw, response) =>
    run({ raw, response, route, params: {}, scope: scope as never, endBodyTime() {} }),
  );
  const { port } = await listen(t, server);
  const reply = await fetch(`http://127.0.0.1:${port}/a`, { signal: AbortSignal.timeout(5_000) });
  const cause = failure?.cause;
  return { status: reply.status, text: await reply.text(), cause: cause instanceof Error ? cause.message : undefined };
}

const unwritable = json(200, {}, { 'X-Broken': 'a\nb' });

for (const [how, wrap] of [
  ['at once', (answer: () => RouteReply) => answer],
  ['by a promise', (answer: () => RouteReply) => () => Promise.resolve().then(answer)],
] as const) {
  test(`an answer given ${how} is written, and an unwritable answer or a thrown error gets the caller 500`, async (t) => {
    assert.deepEqual(
      await answered(
        t,
        wrap(() => json(200, { a: 1 })),
      ),
      { status: 200, text: '{"a":1}', cause: undefined },
    );
    const broken = await answered(
      t,
      wrap(() => unwritable),
    );
    assert.equal(broken.status, 500);
    assert.match(broken.cause ?? '', /X-Broken/);
    const thrown = await answered(
      t,
      wrap(() => {
        throw new Error('thrown');
      }),
    );
    assert.equal(thrown.status, 500);
    assert.equal(thrown.cause, 'thrown');
    assert.doesNotMatch(thrown.text, /thrown/);
  });
}
