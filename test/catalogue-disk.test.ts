// suite: long

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply, Request } from './support/callers/http-client.ts';
import { canLimitFiles, limitFileSize, makeReadOnly, smallDisk } from './support/faults/small-disk.ts';
import { type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';

// A full disk, and a file without write permission. Writes get a 503 that says what to do, and reads go on. Writes work again without a
// restart as soon as the disk or the file permits them.

const route = '/automation_catalog/automations';

/** A gateway and a token of its admin. A login is not possible later: the store must record the attempt. */
interface Session {
  readonly gateway: GatewayProcess;
  readonly authorization: string;
}

async function session(gateway: GatewayProcess): Promise<Session> {
  return { gateway, authorization: `Bearer ${await gateway.tokenFor('admin')}` };
}

function ask({ gateway, authorization }: Session, request: Request): Promise<Reply> {
  return gateway.send({ ...request, headers: { ...request.headers, Authorization: authorization } });
}

function create(asking: Session, name: string): Promise<Reply> {
  return ask(asking, {
    method: 'POST',
    target: route,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name, data: { description: 'x'.repeat(20_000) } }),
  });
}

function importTwo(asking: Session, name: string): Promise<Reply> {
  const lines = [1, 2].map((number) => `${JSON.stringify({ _id: `${name}-${number}`, name: `${name} ${number}` })}\n`);
  return ask(asking, {
    method: 'POST',
    target: '/automation_catalog/import',
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: lines.join(''),
  });
}

/** Creates an automation and answers its path. */
async function made(asking: Session, name: string): Promise<string> {
  const reply = await create(asking, name);
  assert.equal(reply.status, 201, reply.text);
  return new URL(reply.header('location') ?? '', asking.gateway.url).pathname;
}

/** Every reading route answers, and shows these automations and no others. */
async function readsGoOn(asking: Session, location: string, names: readonly string[]): Promise<void> {
  const single = await ask(asking, { target: location });
  assert.equal(single.status, 200, single.text);
  const listing = await ask(asking, { target: route });
  assert.equal(listing.status, 200, listing.text);
  const page = listing.json() as { readonly list: readonly { readonly name: string }[]; readonly total: number };
  assert.deepEqual(
    page.list.map(({ name }) => name),
    names,
  );
  assert.equal(page.total, names.length);
  assert.equal((await ask(asking, { target: '/automation_catalog/export' })).status, 200);
  assert.equal((await asking.gateway.send({ target: '/readyz' })).status, 200);
}

async function writesAreRefused(asking: Session, location: string, advice: RegExp): Promise<void> {
  const replies = [
    await create(asking, 'refused'),
    await importTwo(asking, 'refused'),
    await ask(asking, { method: 'DELETE', target: location }),
    await create(asking, 'refused'),
  ];
  for (const reply of replies) {
    const { detail } = assertProblem(reply, 503, 'store-unavailable');
    assert.match(detail, advice);
    assert.doesNotMatch(reply.text, /gateway\.db/u, 'a caller has no use for the path');
    assert.match(reply.header('retry-after') ?? '', /^\d+$/);
  }
}

/** Writes are refused until `mend` has run: no acknowledged write is lost, and none is there in part. */
async function refusedUntilMended(
  asking: Session,
  { location, advice, mend }: { readonly location: string; readonly advice: RegExp; readonly mend: () => void },
): Promise<void> {
  await writesAreRefused(asking, location, advice);
  await readsGoOn(asking, location, ['before']);
  mend();
  await made(asking, 'later');
  assert.equal((await importTwo(asking, 'imported')).status, 200);
  await readsGoOn(asking, location, ['before', 'imported 1', 'imported 2', 'later']);
}

function start(owner: Owner, file?: string): Promise<GatewayProcess> {
  return startGatewayProcess(owner, file === undefined ? {} : { config: { store: { url: `sqlite:${file}` } } });
}

test('R73: on a full disk writes get a 503 that says so, reads go on, and writes work again once there is room', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('this user may not mount a small disk');
    return;
  }
  const gateway = await start(t, join(disk.directory, 'gateway.db'));
  const asking = await session(gateway);
  const location = await made(asking, 'before');
  disk.fill();
  await refusedUntilMended(asking, { location, advice: /disk of the store is full/u, mend: disk.makeRoom });
  const outages = gateway.stderr.filter((line) => line.includes('the store is unavailable'));
  assert.equal(outages.length, 1, 'the log tells of the outage once');
});

test('R73: a disk that refuses writes is 503, reads go on, and writes work again afterwards', {
  skip: !canLimitFiles && 'prlimit (util-linux) is not installed',
}, async (t) => {
  const gateway = await start(t);
  const asking = await session(gateway);
  const location = await made(asking, 'before');
  limitFileSize(gateway.pid, statSync(join(gateway.directory, 'gateway.db-wal')).size);
  await refusedUntilMended(asking, {
    location,
    advice: /room, quota and health/u,
    mend: () => limitFileSize(gateway.pid, undefined),
  });
});

test('R73: a gateway that starts on a read-only file serves reads, and writes once the file is writable', async (t) => {
  const first = await start(t);
  const { authorization } = await session(first);
  const location = await made({ gateway: first, authorization }, 'before');
  await first.stop();
  const file = makeReadOnly(join(first.directory, 'gateway.db'));
  if (file === undefined) {
    t.skip('a file cannot be made immutable here');
    return;
  }
  try {
    const gateway = await first.restart();
    await refusedUntilMended({ gateway, authorization }, { location, advice: /can only be read/u, mend: file.makeWritable });
  } finally {
    file.makeWritable();
  }
});
