import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutEvent } from './cut-event.ts';

const event = (data: unknown, source = 'urn:a'): string =>
  JSON.stringify({ specversion: '1.0', id: '1', source, type: 't', data });

test('an event with short data stays as it is, byte for byte', () => {
  const text = '{"specversion":"1.0","id":"1","source":"urn:a","type":"t","data":{"n":1.0,"t":"x"}}';
  assert.equal(cutEvent({ event: text, run: 'r' }), text);
  const nearly = event({ text: 'x'.repeat(65_000) });
  assert.equal(cutEvent({ event: nearly, run: 'r' }), nearly);
});

test('long data is cut to 64 KiB, says so, keeps its digits, and leads to its run or approval', () => {
  const text = event({ text: 'é'.repeat(100_000), list: Array.from({ length: 9_000 }, (_, n) => n), short: { a: 1 } });
  const exact = text.replace('"short":{"a":1}', '"short":{"a":1.0}');
  const cut = cutEvent({ event: exact, run: 'r 1' });
  assert.ok(Buffer.byteLength(cut) < 65_536 + 200);
  assert.match(cut, /"text":"é+ … \(cut\)","short":\{"a":1\.0\},"truncated":true,"href":"\/runs\/r 1"\}\}$/u);
  const approval = cutEvent({ event: event({ message: 'x'.repeat(70_000) }, '/approvals/7') });
  assert.match(approval, /"truncated":true,"href":"\/approvals\/7"/u);
});

test('data of any other form, of very many bytes, or in base64 is left out', () => {
  for (const data of ['x'.repeat(70_000), ['x'.repeat(70_000)], { text: 'x'.repeat(2_000_000) }])
    assert.match(cutEvent({ event: event(data) }), /"type":"t","data":\{"truncated":true\}\}$/u);
  const bytes = JSON.stringify({ specversion: '1.0', id: '1', source: 'urn:a', type: 't', data_base64: 'A'.repeat(70_000) });
  assert.equal(
    cutEvent({ event: bytes }),
    '{"specversion":"1.0","id":"1","source":"urn:a","type":"t","data":{"truncated":true}}',
  );
});
