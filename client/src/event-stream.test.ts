import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type StreamEvent, streamEvents } from './event-stream.ts';

async function read(pieces: readonly Buffer[]): Promise<readonly StreamEvent[]> {
  async function* body(): AsyncGenerator<Buffer> {
    yield* pieces;
  }
  return await Array.fromAsync(streamEvents(body()));
}

test('the events of a stream are the same wherever its pieces end, and with each kind of line break', async () => {
  const text = ':\n\nid: 1\nevent: a\ndata: {"ü":"日本"}\n\n: again\n\nid: 2\ndata: x\ndata: y\n\nid: 3\ndata: not complete\n';
  const expected = [
    { id: '1', data: '{"ü":"日本"}' },
    { id: '2', data: 'x\ny' },
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(Buffer.byteLength(text) + 20), { maxLength: 12 }),
      async (lineBreak, cuts) => {
        const bytes = Buffer.from(text.replaceAll('\n', lineBreak));
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
        assert.deepEqual(await read(pieces), expected);
      },
    ),
  );
});

test('an event that does not end is refused before it fills the memory', async () => {
  const piece = Buffer.alloc(1024 ** 2, 'x');
  await assert.rejects(read(Array.from({ length: 6 }, () => piece)), RangeError);
});
