import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { brokenJsonText, chunkSizes, cut, type JsonText, jsonObjectText, jsonText } from '#json/json-texts.test-support.ts';
import { InstanceWriter } from './instance-writer.ts';

const usualHoldLimit = 8 * 1024 ** 2;
/** The answer. */
function transform(chunks: readonly Buffer[], holdLimit = usualHoldLimit): string {
  const writer = new InstanceWriter(holdLimit);
  const written = chunks.map((chunk) => Buffer.from(writer.push(chunk)));
  return Buffer.concat([...written, writer.finish()]).toString();
}

function transformed(text: string): string {
  return transform([Buffer.from(text)]);
}

/** The instances in the written form: for each property its raw name token and its value. */
type Instances = readonly (readonly (readonly [name: string, value: string])[])[];

function valueOf(node: JsonText): string {
  return node.text.startsWith('"') ? node.text : JSON.stringify(node.text);
}

function instanceOf(name: string, node: JsonText): Instances[number] {
  if (node.kind !== 'object') return [[name, valueOf(node)]];
  const groups = Map.groupBy(node.members, ({ token }) => JSON.parse(token) as string);
  return [...groups.values()].map((group) => {
    const values = group.map(({ value }) => value);
    const [first] = values;
    assert.ok(group[0] !== undefined && first !== undefined);
    return [
      group[0].token,
      values.length === 1 ? valueOf(first) : JSON.stringify(`[${values.map(({ text }) => text).join(',')}]`),
    ];
  });
}

function instancesOf(name: string, node: JsonText): Instances {
  return node.kind === 'array' ? node.items.map((item) => instanceOf(name, item)) : [instanceOf(name, node)];
}

function modelOf(root: JsonText): Instances {
  if (root.kind !== 'object') return instancesOf('"content"', root);
  return root.members.flatMap(({ token, value }, index) => {
    const isWrapper = index === 0 && value.kind === 'object' && JSON.parse(token) === 'collection';
    return isWrapper ? value.members.flatMap((member) => instancesOf(member.token, member.value)) : instancesOf(token, value);
  });
}

function written(instances: Instances): string {
  const objects = instances.map(
    (properties) => `{"instance_data":{${properties.map(([name, value]) => `${name}:${value}`).join(',')}}}`,
  );
  return `{"result":[${objects.join(',')}]}`;
}

test('any JSON text becomes the instances of the model, with any chunk sizes', () => {
  fc.assert(
    fc.property(fc.oneof(jsonText, jsonObjectText), chunkSizes, (node, sizes) => {
      const answer = transform(cut(Buffer.from(`\n${node.text} `), sizes));
      assert.equal(answer, written(modelOf(node)));
      JSON.parse(answer);
    }),
    { numRuns: 2000 },
  );
});

test('an instance over the limit streams: all values arrive in order, and only repeated names may stay', () => {
  // Without repeated names in an instance the answer is the same as for an instance that is held in memory.
  fc.assert(
    fc.property(fc.oneof(jsonText, jsonObjectText), chunkSizes, fc.integer({ min: 12, max: 60 }), (node, sizes, limit) => {
      const bytes = Buffer.from(node.text);
      let answer: string;
      try {
        answer = transform(cut(bytes, sizes), limit);
      } catch (error) {
        assert.match(String(error), /member name is longer/u);
        return;
      }
      const isMerged = modelOf(node).some((properties, index) => properties.length !== memberCounts(node)[index]);
      if (isMerged) assert.doesNotThrow(() => JSON.parse(answer));
      else assert.equal(answer, written(modelOf(node)));
    }),
    { numRuns: 2000 },
  );
});

/** How many members each instance has, with repeated ones counted each time. */
function memberCounts(root: JsonText): readonly number[] {
  const counts = (node: JsonText): number[] =>
    node.kind === 'array'
      ? node.items.map((item) => (item.kind === 'object' ? item.members.length : 1))
      : [node.kind === 'object' ? node.members.length : 1];
  if (root.kind !== 'object') return counts(root);
  return root.members.flatMap(({ token, value }, index) =>
    index === 0 && value.kind === 'object' && JSON.parse(token) === 'collection'
      ? value.members.flatMap((member) => counts(member.value))
      : counts(value),
  );
}

test('an instance over the limit merges the repeated members that were held, and repeats later ones', () => {
  const members = `"a":1,"b":2,"a":[3, 4],"c":"${'x'.repeat(40)}","a":5`;
  const answer = transform(cut(Buffer.from(`{"l":[{${members}}]}`), [1]), 40);
  assert.equal(answer, `{"result":[{"instance_data":{"a":"[1,[3, 4]]","b":"2","c":"${'x'.repeat(40)}","a":"5"}}]}`);
});

test('a text that is not JSON is refused, with any chunk sizes', () => {
  fc.assert(
    fc.property(brokenJsonText, chunkSizes, (text, sizes) => {
      const attempt = (): unknown => transform(cut(Buffer.from(text), sizes));
      try {
        JSON.parse(text);
      } catch {
        assert.throws(attempt, JsonSyntaxError);
        return;
      }
      assert.doesNotThrow(attempt);
    }),
    { numRuns: 1000 },
  );
});

test('a list of devices becomes one instance for each device', () => {
  assert.equal(
    transformed(
      '{ "tailf-ncs:device": [\n {"name": "ce0", "port" : 10022, "big":18446744073709551615, "state": {"admin-state": "unlocked"}},\n {} ] }',
    ),
    String.raw`{"result":[{"instance_data":{"name":"ce0","port":"10022","big":"18446744073709551615","state":"{\"admin-state\": \"unlocked\"}"}},{"instance_data":{}}]}`,
  );
});

test('objects, lists, leaves and the legacy wrapper become instances in order', () => {
  assert.equal(
    transformed('{"collection":{"a":[{"n":"R1"},1,[2]],"o":{"x":1},"l":1.0},"collection":{"y":null},"e":[]}'),
    '{"result":[{"instance_data":{"n":"R1"}},{"instance_data":{"a":"1"}},{"instance_data":{"a":"[2]"}},{"instance_data":{"x":"1"}},{"instance_data":{"l":"1.0"}},{"instance_data":{"y":"null"}}]}',
  );
  assert.equal(
    transformed('{"x":1,"collection":{"y":{"z":1}}}'),
    String.raw`{"result":[{"instance_data":{"x":"1"}},{"instance_data":{"y":"{\"z\":1}"}}]}`,
  );
  assert.equal(transformed('{"collection":[1]}'), '{"result":[{"instance_data":{"collection":"1"}}]}');
  assert.equal(
    transformed('[{"a":1},"t",[1]]'),
    '{"result":[{"instance_data":{"a":"1"}},{"instance_data":{"content":"t"}},{"instance_data":{"content":"[1]"}}]}',
  );
  for (const [text, value] of [
    ['12345678901234567890', '"12345678901234567890"'],
    ['"s"', '"s"'],
    ['true', '"true"'],
    ['-0', '"-0"'],
  ] as const) {
    assert.equal(transformed(text), `{"result":[{"instance_data":{"content":${value}}}]}`);
  }
  for (const text of ['{}', '[]', ' { } ', '{"collection":{}}', '{"a":[]}']) assert.equal(transformed(text), '{"result":[]}');
});

test('a repeated member of an instance becomes one property, also when its name is written with escapes', () => {
  assert.equal(
    transformed('{"rollbacks":{"file":{"n":1},"\\u0066ile":"two","other":[],"file":null}}'),
    String.raw`{"result":[{"instance_data":{"file":"[{\"n\":1},\"two\",null]","other":"[]"}}]}`,
  );
  assert.equal(
    transformed('{"a":{"é":1,"\\u00e9":2,"\\ud800":3,"\\udc00":4}}'),
    String.raw`{"result":[{"instance_data":{"é":"[1,2]","\ud800":"3","\udc00":"4"}}]}`,
  );
});

test('instances longer than a chunk are held, merged, and written whole', () => {
  const long = 'é"\n'.repeat(30_000);
  const entry = { a: { deep: [long] }, b: long, c: 1 };
  const text = `[${JSON.stringify(entry)},{"a":1,"b":${JSON.stringify(long)},"a":${JSON.stringify([long])}}]`;
  const expected = {
    result: [
      { instance_data: { a: JSON.stringify(entry.a), b: long, c: '1' } },
      { instance_data: { a: `[1,${JSON.stringify([long])}]`, b: long } },
    ],
  };
  for (const size of [1_000_000, 65_536, 1000]) {
    assert.deepEqual(JSON.parse(transform(cut(Buffer.from(text), [size]))), expected);
  }
});

test('an endless value streams: the writer holds less than the limit and delays nothing', () => {
  const writer = new InstanceWriter(1024 * 1024);
  let length = writer.push(Buffer.from('{"a":[{"first":1,"blob":["')).length;
  const piece = Buffer.alloc(256 * 1024, 'interface "x"\\n'.replaceAll('"', '\\"'));
  const pieces = 64;
  for (let i = 0; i < pieces; i++) {
    length += writer.push(piece).length;
    assert.ok(length > (i - 4) * piece.length);
  }
  length += writer.push(Buffer.from('"],"last":true}]}')).length + writer.finish().length;
  assert.ok(length > pieces * piece.length);
});

test('a member name over the limit is refused where it would name each entry', () => {
  const text = Buffer.from(`{"${'n'.repeat(100)}":[1]}`);
  assert.throws(() => transform(cut(text, [10]), 50), JsonSyntaxError);
});
