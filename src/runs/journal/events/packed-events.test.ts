import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EventFacts, packedEvents, unpackedEvents } from './packed-events.ts';

const workflow = { id: 'a.b', name: 'b', namespace: 'a', version: '1.0.0' };
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u;

function textsOf(facts: readonly EventFacts[]): readonly string[] {
  let number = 0;
  return packedEvents(facts, workflow).flatMap(({ packed, ...row }) => {
    number += packed?.count ?? 1;
    return unpackedEvents({ ...row, number, run: 'r', identity: packed?.identity ?? null }).map(({ event }) => event);
  });
}

test('an event that was stored as facts is read as the same bytes as before', () => {
  const error = { type: 'https://a.b', status: 500, title: 'é"', detail: 'x' };
  const facts: readonly EventFacts[] = [
    ['workflow.started', 0, { definition: { name: 'b', namespace: 'a', version: '1.0.0' } }],
    ['created', 1, ['/do/0/a', 3, 1]],
    ['faulted', 2, ['/do/0/a', 3, 2, 0], { error }],
    ['workflow.correlation-completed', 3, { correlationKeys: { k: 1 } }],
    ['workflow.faulted', 4, { error, suspendedBy: 'people' }],
  ];
  const read = textsOf(facts);
  const ids = read.map((text) => String(JSON.parse(text).id));
  const head = (index: number, type: string): string =>
    `{"specversion":"1.0","id":"${ids[index]}","source":"/runs/r","type":"io.serverlessworkflow.${type}.v1","time":"1970-01-01T00:00:00.00${index}Z","subject":"a.b","datacontenttype":"application/json","data":`;
  const fault = '"error":{"type":"https://a.b","status":500,"title":"é\\"","detail":"x"}';
  assert.deepEqual(read, [
    `${head(0, 'workflow.started')}{"name":"b-r.a","startedAt":"1970-01-01T00:00:00.000Z","definition":{"name":"b","namespace":"a","version":"1.0.0"}}}`,
    `${head(1, 'task.created')}{"workflow":"b-r.a","task":"/do/0/a","id":"3","attempt":1,"createdAt":"1970-01-01T00:00:00.001Z"}}`,
    `${head(2, 'task.faulted')}{"workflow":"b-r.a","task":"/do/0/a","id":"3","iteration":0,"attempt":2,"faultedAt":"1970-01-01T00:00:00.002Z",${fault}}}`,
    `${head(3, 'workflow.correlation-completed')}{"name":"b-r.a","completedAt":"1970-01-01T00:00:00.003Z","correlationKeys":{"k":1}}}`,
    `${head(4, 'workflow.faulted')}{"name":"b-r.a","faultedAt":"1970-01-01T00:00:00.004Z",${fault},"suspendedBy":"people"}}`,
  ]);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, uuid);
});

test('the ids of a row stay UUIDs where its first id has the highest node', () => {
  const identity = '00000000-0000-4000-8000-ffffffffffff';
  const event = JSON.stringify([
    ['b', 'a', 'a.b'],
    ['workflow.started', 1],
    ['workflow.completed', 2],
  ]);
  const read = unpackedEvents({ number: 8, at: 1, kind: 'lifecycle', run: 'r', identity, event });
  assert.deepEqual(
    read.map(({ number, at, id }) => [number, at, id]),
    [
      [7, 1, identity],
      [8, 2, '00000000-0000-4000-8000-000000000000'],
    ],
  );
});

test('a long step has several rows, and a row of an earlier version is one event', () => {
  const many = Array.from({ length: 40 }, (_, index): EventFacts => ['created', 1, ['/do/0/a', index, 1]]);
  assert.deepEqual(
    packedEvents(many, workflow).map(({ packed }) => packed?.count),
    [16, 16, 8],
  );
  assert.equal(textsOf(many).length, 40);
  const long = { correlationKeys: { k: 'x'.repeat(20_000) } };
  const wide = Array.from({ length: 3 }, (): EventFacts => ['workflow.correlation-completed', 1, long]);
  assert.equal(packedEvents(wide, workflow).length, 3);
  const event = '{"specversion":"1.0","id":"1","source":"/runs/r"}';
  const earlier = { number: 4, at: 2, kind: 'lifecycle', run: 'r', identity: 'i', event } as const;
  assert.deepEqual(unpackedEvents(earlier), [{ number: 4, at: 2, event }]);
});
