import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { json, type RouteReply } from './route.ts';
import { createRouteRunner, type RouteRunnerOptions } from './route-runner.ts';

/** What a route that answers so gives its caller; what it failed with, as 500. */
async function answered(
  handle: () => RouteReply | Promise<RouteReply>,
): Promise<{ readonly status: number; readonly text: string }> {
  const app = fastify();
  app.decorateRequest('scope', null as never);
  app.decorateRequest('endBodyTime', () => {});
  app.setErrorHandler((error, _request, reply) => reply.code(500).send(error instanceof Error ? error.message : 'no error'));
  const scope = { requestId: 'one', sourceAddress: '127.0.0.1', span: undefined };
  const server = { requestBodyLimit: 1_000 };
  const options = { open: (request: { scope: unknown }) => (request.scope = scope), rateLimit: () => undefined, server };
  createRouteRunner(options as unknown as RouteRunnerOptions).add(app, {
    method: 'GET',
    url: '/a',
    access: 'everyone',
    handle,
    group: 'operations',
    docs: {} as never,
  });
  try {
    const reply = await fetch(`${await app.listen()}/a`, { signal: AbortSignal.timeout(5_000) });
    return { status: reply.status, text: await reply.text() };
  } finally {
    await app.close();
  }
}

const unwritable = json(200, {}, { 'X-Broken': 'a\nb' });

for (const [how, wrap] of [
  ['at once', (answer: () => RouteReply) => answer],
  ['by a promise', (answer: () => RouteReply) => () => Promise.resolve().then(answer)],
] as const) {
  test(`an answer given ${how} is written, and what cannot be, or was thrown, is an error that its caller gets`, async () => {
    assert.deepEqual(await answered(wrap(() => json(200, { a: 1 }))), { status: 200, text: '{"a":1}' });
    const broken = await answered(wrap(() => unwritable));
    assert.equal(broken.status, 500);
    assert.match(broken.text, /X-Broken/);
    const thrown = (): RouteReply => {
      throw new Error('thrown');
    };
    assert.deepEqual(await answered(wrap(thrown)), { status: 500, text: 'thrown' });
  });
}
