import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditRecord } from '#audit/audit-reader.ts';
import { readEarlierWrites } from './earlier-writes.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const collection = '/automation_catalog/automations';

/** The route of a record, and some of its members. */
type Given = readonly [string, Partial<AuditRecord>];

/** One record a second. */
function recordsOf(given: readonly Given[]): readonly AuditRecord[] {
  return given.map(([route, facts], second) => {
    return { id: `c/${second}`, time: at(second), event: 'request', route, automation: { _id: 'a', name: 'A' }, ...facts };
  });
}

async function writersAfter(...given: readonly Given[]): Promise<readonly string[]> {
  // One record a page, as a log of many records has several.
  const records = recordsOf(given);
  const writes = await readEarlierWrites({
    list: ({ after }) => {
      const place = after === undefined ? 0 : after.seq;
      const cursor = Buffer.from(JSON.stringify([0, 'c', place + 1])).toString('base64url');
      return Promise.resolve({ list: records.slice(place, place + 1), ...(place + 1 < records.length && { cursor }) });
    },
  });
  const automation = { _id: 'a', name: 'A', data: { lastUpdated: at(0) } };
  return writes.writersOf(automation).map(({ id }) => id);
}

const created: Given = [`POST ${collection}`, { principal: 'ann' }];
const imported = '/automation_catalog/import';

test('a person of an issuer is known by issuer and subject, and never by the name of a user', async () => {
  const subject = { principal: 'ann', issuer: 'https://idp.example', subject: '7' };
  assert.deepEqual(await writersAfter([`POST ${collection}`, subject]), ['oidc:["https://idp.example","7"]']);
});

test('each writer counts once, the last one first', async () => {
  const change = (principal: string): Given => [`PATCH ${collection}/:id`, { principal }];
  assert.deepEqual(await writersAfter(created, change('bob'), change('ann')), ['ann', 'bob']);
});

test('records of other requests make no person a writer', async () => {
  const others = [`POST ${collection}/:id/run`, `POST ${collection}/:id/take`, `GET ${collection}/:id`] as const;
  const records = others.map((route): Given => [route, { principal: 'bob' }]);
  assert.deepEqual(await writersAfter(created, ...records), ['ann']);
});

test('a log without the creation, or with lost records, an import or a deletion after it, proves no writer', async () => {
  const replaced: Given = [`PUT ${collection}/:id`, { principal: 'bob' }];
  const without = { automation: undefined };
  assert.deepEqual(await writersAfter(replaced), []);
  const gaps: readonly Given[] = [
    ['', { ...without, event: 'dropped' }],
    [`POST ${imported}`, { ...without, status: 200 }],
    [`POST ${imported}`, { ...without, status: 503 }],
    // Its caller left before the reply.
    [`POST ${imported}`, without],
    [`DELETE ${collection}/:id`, {}],
  ];
  for (const gap of gaps) assert.deepEqual(await writersAfter(created, gap, replaced), []);
  assert.deepEqual(await writersAfter(created, [`POST ${imported}`, { ...without, status: 403 }], replaced), ['bob', 'ann']);
});
