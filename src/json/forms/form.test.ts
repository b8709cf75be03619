import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { writeForm } from './form.ts';

function pointers(object: string): readonly string[] {
  try {
    writeForm(Buffer.from(object));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid-request');
    return (error.errors ?? []).map(({ pointer }) => pointer);
  }
  return [];
}

test('a flat object becomes a form with its order, its repeated names and all digits', () => {
  const object = '{"b c":"1 + 1=2&é*~","a":18446744073709551615,"a":1.0,"t":true,"f":false,"n":null,"":"\\n"}';
  assert.equal(
    writeForm(Buffer.from(object)).toString(),
    'b+c=1+%2B+1%3D2%26%C3%A9*%7E&a=18446744073709551615&a=1.0&t=true&f=false&n=&=%0A',
  );
  assert.equal(writeForm(Buffer.from('{}')).toString(), '');
});

test('a value that a form cannot represent is refused, and one error names all such values', () => {
  assert.deepEqual(pointers('{"ok":1,"a/b":{},"list":[1],"s":"\\ud800"}'), ['/body/a~1b', '/body/list', '/body/s']);
  assert.deepEqual(pointers('[1]'), ['/body']);
});
