import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { brokenJsonText, chunkSizes, cut, jsonText } from '#json/json-texts.test-support.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import type { Stage } from '#relay/stage.ts';
import { escapeStage, instanceDataStage, jsonStage } from './json-stages.ts';
import { renderReply } from './rendering.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', 'é', '😀', '\u2028', 'x')),
  maxLength: 400,
});

function throughStage(stage: Stage, chunks: readonly Buffer[]): Buffer {
  const out = chunks.map((chunk) => Buffer.from(stage.push(chunk)));
  return Buffer.concat([...out, stage.end()]);
}

test('escaped text reads back unchanged with any chunk sizes', () => {
  fc.assert(
    fc.property(anyText, chunkSizes, (text, sizes) => {
      assert.equal(JSON.parse(`"${throughStage(escapeStage(), cut(Buffer.from(text), sizes)).toString()}"`), text);
    }),
    { numRuns: 500 },
  );
});

test('every byte is escaped as JSON.stringify does', () => {
  for (let byte = 0; byte < 0x100; byte += 1) {
    const bytes = Buffer.alloc(3, byte);
    assert.equal(escapeStage().push(bytes).toString('latin1'), JSON.stringify(bytes.toString('latin1')).slice(1, -1));
  }
});

test('a reply labelled JSON is checked as JSON.parse does, up to a nesting of a million', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        jsonText.map((node) => node.text),
        brokenJsonText,
      ),
      chunkSizes,
      (text, sizes) => {
        const check = (): Buffer => throughStage(jsonStage(), cut(Buffer.from(text), sizes));
        try {
          JSON.parse(text);
        } catch {
          assert.throws(check, JsonSyntaxError);
          return;
        }
        assert.equal(check().toString(), text);
      },
    ),
    { numRuns: 1000 },
  );
  const deep = Buffer.from('['.repeat(1_000_000) + ']'.repeat(1_000_000));
  assert.equal(throughStage(jsonStage(), [deep]).length, deep.length);
  assert.throws(() => jsonStage().push(Buffer.alloc(1_000_001, '[')), { kind: 'depth', offset: 1_000_000 });
});

test('a whole reply keeps its bytes while others are rendered, with any stages', () => {
  const reply = (text: string): CallReply => ({
    status: 200,
    headers: {},
    head: Buffer.from(text),
    rest: undefined,
    discard: () => undefined,
  });
  for (const stage of [escapeStage, jsonStage, instanceDataStage]) {
    const render = (text: string): Buffer =>
      renderReply(reply(text), [() => ({ before: '', stages: [stage()], after: '' })]).head;
    const first = render('["a secret"]');
    const before = first.toString();
    render('["another!"]');
    assert.equal(first.toString(), before);
  }
});
