import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { eachStore } from '../../test/support/stores/stores.ts';
import type { Automation } from './automation.ts';
import { catalogueOn } from './automation-catalogue.test-support.ts';
import { readListOptions } from './list-options.ts';
import { createAutomationStore } from './store/automation-store.ts';

const admin: Principal = { id: 'ada', username: 'ada', roles: ['other', 'admin'], groups: [] };
const reader: Principal = { id: 'rosa', username: 'rosa', roles: ['readonly'], groups: ['noc'] };

eachStore((store) => {
  test('a listing holds the values in effect and what its principal may see', async (t) => {
    const database = await store.open(t);
    const documents = createAutomationStore(database);
    await documents.change((writer) =>
      writer.insert([
        { _id: '1', name: 'Backup' },
        { _id: '2', name: 'Audit', data: { gbac: { read: ['noc'] } } },
        { _id: '3', name: 'Certificates', data: { gbac: { read: ['security'], write: [] } } },
      ]),
    );
    const catalogue = catalogueOn(database);
    const list = async (principal: Principal, query: string) => {
      const {
        list,
        isCut: _,
        ...counts
      } = await catalogue.list({ principal, options: readListOptions(new URLSearchParams(query)) });
      return { names: list.map((text) => (JSON.parse(text) as Automation).name), ...counts };
    };
    assert.deepEqual(await list(admin, ''), { names: ['Audit', 'Backup', 'Certificates'], total: 3, skip: 0, limit: 100 });
    assert.deepEqual(await list(reader, ''), { names: ['Audit', 'Backup'], total: 2, skip: 0, limit: 100 });
    assert.deepEqual(await list({ ...reader, groups: [] }, 'limit=0'), { names: [], total: 1, skip: 0, limit: 0 });
    assert.deepEqual(await list(reader, 'queryParameters[skip]=1&queryParameters[limit]=1&queryParameters[order]=-1'), {
      names: ['Audit'],
      total: 2,
      skip: 1,
      limit: 1,
    });
    assert.deepEqual(await list(admin, 'startsWith=b'), { names: ['Backup'], total: 1, skip: 0, limit: 100 });
  });

  test('principals take turns: one listing of another does not wait for sixty of a busy principal', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database);
    const order: string[] = [];
    const list = async (principal: Principal): Promise<void> => {
      await catalogue.list({ principal, options: readListOptions(new URLSearchParams('contains=a')) });
      order.push(principal.id);
    };
    const busy = Array.from({ length: 60 }, () => list(admin));
    await Promise.all([...busy, list(reader)]);
    // Two run when it comes, and two may start before its turn. While it runs, others begin and end.
    assert.ok(order.indexOf(reader.id) <= 20, `${order.indexOf(reader.id)} listings ended before it`);
  });

  test('an automation without a value for a field is listed without the field', async (t) => {
    const database = await store.open(t);
    await createAutomationStore(database).change((writer) => writer.insert([{ _id: '1', name: 'Bare' }]));
    const { list } = await catalogueOn(database).list({
      principal: admin,
      options: readListOptions(new URLSearchParams()),
    });
    assert.deepEqual(list, ['{"_id":"1","name":"Bare"}']);
  });

  test('a closed store is unavailable', async (t) => {
    const database = await store.open(t);
    const catalogue = catalogueOn(database);
    await database.close();
    const options = readListOptions(new URLSearchParams());
    await assert.rejects(
      catalogue.list({ principal: admin, options }),
      (error) => error instanceof GatewayError && error.code === 'store-unavailable',
    );
  });
});
