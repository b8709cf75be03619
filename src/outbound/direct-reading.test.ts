import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { listen } from '../../test/support/listen.ts';
import { readDirectly } from './direct-reading.ts';

/** Both ends of a connection: what one writes the other reads. */
async function connected(t: TestContext): Promise<{ readonly writer: Socket; readonly reader: Socket }> {
  const server = createServer({ noDelay: true });
  const { port } = await listen(t, server);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const reader = connect({ port, host: '127.0.0.1' });
  readDirectly(reader);
  t.after(() => reader.destroy());
  const [writer] = await accepted;
  t.after(() => writer.destroy());
  return { writer, reader };
}

/** Reads as undici does: with every event, until there is no more; `reads` says whether it reads at all. */
function collect(reader: Socket, reads: () => boolean = () => true): { readonly pieces: Buffer[]; readonly drain: () => void } {
  const pieces: Buffer[] = [];
  const drain = (): void => {
    while (reads()) {
      const piece = reader.read() as Buffer | null;
      if (piece === null) return;
      pieces.push(piece);
    }
  };
  reader.on('readable', drain);
  return { pieces, drain };
}

test('what a socket receives is read in its order, and then its end', async (t) => {
  const { writer, reader } = await connected(t);
  const { pieces } = collect(reader);
  const ended = once(reader, 'end');
  const sent = Array.from({ length: 50 }, (_, at) => randomBytes(1 + at * 400));
  for (const piece of sent) {
    writer.write(piece);
    await turn();
  }
  writer.end();
  await ended;
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat(sent));
});

test('a reader that leaves what comes gets all of it later, and its sender is held up meanwhile', async (t) => {
  const { writer, reader } = await connected(t);
  let reads = false;
  const { pieces, drain } = collect(reader, () => reads);
  const ended = once(reader, 'end');
  const sent = randomBytes(32 * 1024 ** 2);
  let taken = false;
  writer.end(sent, () => (taken = true));
  await sleep(300);
  assert.ok(!taken, 'more is taken than anybody reads');
  assert.ok(reader.readableLength > 0 && reader.readableLength < 1024 ** 2, String(reader.readableLength));
  reads = true;
  drain();
  await ended;
  assert.ok(Buffer.concat(pieces).equals(sent));
});

test('what a reader puts back comes before what the socket receives later', async (t) => {
  const { writer, reader } = await connected(t);
  const got: string[] = [];
  reader.on('readable', () => {
    for (let piece = reader.read() as Buffer | null; piece !== null; piece = reader.read() as Buffer | null) {
      const text = piece.toString('latin1');
      if (text.length > 1) {
        got.push(text.slice(0, 1));
        reader.unshift(Buffer.from(text.slice(1), 'latin1'));
        // As a parser that is paused.
        return;
      }
      got.push(text);
    }
  });
  const ended = once(reader, 'end');
  writer.write('abc');
  await sleep(20);
  writer.end('def');
  await sleep(20);
  for (let more = 0; more < 10 && !reader.readableEnded; more += 1) {
    reader.emit('readable');
    await turn();
  }
  await ended;
  assert.equal(got.join(''), 'abcdef');
});

test('what comes before anybody reads waits', async (t) => {
  const { writer, reader } = await connected(t);
  writer.write('early');
  await sleep(50);
  const { pieces } = collect(reader);
  const ended = once(reader, 'end');
  writer.end(' late');
  await ended;
  assert.equal(Buffer.concat(pieces).toString(), 'early late');
});

test('what comes while nothing waits is never queued', async (t) => {
  const { writer, reader } = await connected(t);
  const queued: number[] = [];
  reader.on('readable', () => {
    queued.push(reader.readableLength);
    reader.read();
  });
  const ended = once(reader, 'end');
  writer.write('one');
  await sleep(20);
  writer.end('two');
  await ended;
  assert.deepEqual(queued.slice(0, 2), [0, 0]);
});
