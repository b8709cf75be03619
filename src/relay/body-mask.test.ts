import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBodyMask } from './body-mask.ts';

const mask = createBodyMask(['Secret', 'token']);

test('a body is masked as its media type says, and another text as JSON where it is JSON', async () => {
  const cases = [
    ['my%53ecret=x&b=%20&token', 'application/x-www-form-urlencoded', 'my%53ecret=***&b=%20&token'],
    ['%zz=1&secret=a=b', 'application/x-www-form-urlencoded; charset=utf-8', '%zz=1&secret=***'],
    ['{"token":1,"a":2.0}', 'text/plain', '{"token":"***","a":2.0}'],
    ['[{"SECRETS":{"a":1}},{"password":"p"}]', 'application/yang-data+json', '[{"SECRETS":"***"},{"password":"***"}]'],
    ['snmp-server location Kiel, token x', 'text/plain', 'snmp-server location Kiel, token x'],
    ['<x:token a="1">1</x:token>', 'application/yang-data+xml', '<x:token a="1">***</x:token>'],
    ['{"token":1}', 'no media type', '{"token":"***"}'],
    ['', 'application/json', ''],
  ] as const;
  for (const [text, contentType, wanted] of cases) assert.equal(await mask({ bytes: Buffer.from(text), contentType }), wanted);
});

test('bytes that are no UTF-8 become U+FFFD in the masked text', async () => {
  const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xc3]), Buffer.from('"}')]);
  assert.equal(await mask({ bytes, contentType: 'application/json' }), '{"a":"\uFFFD\uFFFD"}');
});

test('a long body lets other work run while it is masked', async () => {
  const text = JSON.stringify({ list: Array.from({ length: 20_000 }, (_, id) => ({ id, token: 't' })) });
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const masked = await mask({ bytes: Buffer.from(text), contentType: 'application/json' });
  clearInterval(timer);
  assert.equal(masked, text.replaceAll('"t"', '"***"'));
  assert.ok(turns > 1);
});
