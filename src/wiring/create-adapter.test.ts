import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import type { AdapterConfig } from '#config/config.ts';
import { createAdapter } from './create-adapter.ts';

const fixture = (name: string): Promise<string> =>
  readFile(new URL(`../config/shapes/fixtures/test-only-${name}.pem`, import.meta.url), 'utf8');

test('an adapter instance that cannot be created leaves no sender open', async () => {
  const open = new Set<object>();
  let opened = 0;
  const adapter = {
    name: 'A',
    kind: 'nso',
    urls: ['https://127.0.0.1:1'],
    auth: { type: 'oauth2', tokenUrl: 'https://127.0.0.1:2/token', clientId: 'c', clientSecret: new Secret('s') },
    timeouts: { dns: 1, connect: 1, firstByte: 1, idle: 1, total: 1 },
    tls: { cert: await fixture('weak-certificate'), key: new Secret(await fixture('weak-key')), verify: true },
    health: 'off',
    concurrency: 1,
    queue: 1,
    breaker: { failures: 1, openFor: 1 },
  } as unknown as AdapterConfig;
  const needs = {
    resolve: () => Promise.reject(new Error('nothing is looked up here')),
    clock: systemClock,
    log: noLog,
    userAgent: 'test',
    pooled: <S extends { close(): Promise<void> }>(_labels: object, sender: S): S => {
      opened += 1;
      open.add(sender);
      const close = async (): Promise<void> => {
        open.delete(sender);
        await sender.close();
      };
      return { ...sender, close };
    },
  };
  assert.throws(() => createAdapter(adapter, needs), /ee key too small/u);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([opened, open.size], [1, 0]);
});
