import assert from 'node:assert/strict';
import { type Reply, send } from '../callers/http-client.ts';
import type { Gateway } from '../gateway/start-gateway.ts';
import type { CatalogueLedger, Entry, Shown } from './catalogue-ledger.ts';
import { readerGroup } from './catalogue-writer.ts';

/** The `Authorization` values of the requests of a proof; both are valid after a restart of the gateway. */
export interface ProofCallers {
  readonly admin: string;
  /** A member of `readerGroup` alone. */
  readonly reader: string;
}

interface Page {
  readonly list: readonly Shown[];
  readonly total: number;
}

/** How many automations a proof reads one by one. */
const sample = 12;

/**
 * Compares the catalogue of a gateway with the ledger, while no test writes. Every acknowledged automation is there as it was acknowledged,
 * none in part. Export, listing, totals, filters and the view of a group agree.
 */
export async function proveCatalogue(gateway: Gateway, ledger: CatalogueLedger, callers: ProofCallers): Promise<void> {
  const get = (target: string, authorization = callers.admin): Promise<Reply> =>
    send(gateway.port, { target, headers: { Authorization: authorization } });
  const total = async (query: string, authorization?: string): Promise<number> =>
    ((await ok(get(`/automation_catalog/automations?limit=0&${query}`, authorization))).json() as Page).total;

  const exported = (await ok(get('/automation_catalog/export'))).text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly document: Shown }).document);
  ledger.reconcile(exported);
  const entries = ledger.entries();

  const listed: Shown[] = [];
  for (let skip = 0; skip <= entries.length; skip += 1000) {
    const page = (await ok(get(`/automation_catalog/automations?limit=1000&skip=${skip}`))).json() as Page;
    assert.equal(page.total, entries.length, 'the total of the listing');
    listed.push(...page.list);
  }
  assert.deepEqual(byId(listed), byId(exported), 'the listing and the export differ');

  const inView = entries.filter(({ read }) => read.length === 0 || read.includes(readerGroup));
  assert.equal(await total('', callers.reader), inView.length, 'the total of a group');
  for (const { filter, matches } of filters(entries)) {
    assert.equal(await total(filter), entries.filter(matches).length, filter);
    assert.equal(await total(filter, callers.reader), inView.filter(matches).length, `${filter} for a group`);
  }

  const step = Math.max(1, Math.floor(entries.length / sample));
  for (const [index, entry] of entries.entries()) {
    if (index % step !== 0) continue;
    const reply = await ok(get(`/automation_catalog/automations/${entry.id}`));
    assert.equal((reply.json() as Shown).name, entry.name);
    if (entry.etag !== undefined) assert.equal(reply.header('etag'), entry.etag, `the ETag of ${entry.name}`);
  }
}

interface Filter {
  readonly filter: string;
  readonly matches: (entry: Entry) => boolean;
}

function filters(entries: readonly Entry[]): readonly Filter[] {
  const [first] = entries;
  if (first === undefined) return [];
  const lane = first.name.replace(/\d+$/u, '');
  return [
    { filter: `startsWith=${lane}`, matches: ({ name }) => name.startsWith(lane) },
    { filter: `equals=${first.name}`, matches: ({ name }) => name === first.name },
    {
      filter: `contains=${first.name}+as+of&containsField=data.description`,
      matches: ({ description }) => description.includes(`${first.name} as of`),
    },
  ];
}

function byId(list: readonly Shown[]): readonly Shown[] {
  return list.toSorted((a, b) => (a._id < b._id ? -1 : 1));
}

async function ok(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.equal(reply.status, 200, reply.text.slice(0, 1000));
  assert.ok(reply.complete, 'the reply is cut off');
  return reply;
}
