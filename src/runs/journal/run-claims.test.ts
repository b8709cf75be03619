import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { ending, newRun, released, stepOf } from './run-records.test-support.ts';
import { lease, openRunStore } from './run-store.test-support.ts';

/** A run as the protocol has it (docs of RunStore), in memory. */
interface ModelRun {
  owner: string | undefined;
  fence: number;
  abandonedClaims: number;
  /** As `run_claim.due_at`. */
  due: number | undefined;
  state: string | undefined;
  ended: boolean;
  commands: number;
}

/** The gateway that an action names. */
function gatewayOf(named: string, known: ModelRun | undefined): 'one' | 'two' {
  return (named === 'holder' ? known?.owner : named) === 'two' ? 'two' : 'one';
}

/** What a gateway believes that it holds: the fence of its last claim. */
type Believed = Map<string, number>;

const run = fc.constantFrom('r0', 'r1');
const owner = fc.constantFrom('one', 'two');
/** Who writes: mostly the gateway that holds the run, so that most writes count. */
const writer = fc.constantFrom('holder', 'holder', 'holder', 'one', 'two');
const wakeIn = fc.constantFrom(undefined, undefined, 0, 1, 3 * lease);
const text = fc.constantFrom('a', 'b', 'c');
const action = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('create' as const), run: fc.constantFrom('r0', 'r2') }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      owner,
      limit: fc.integer({ min: 1, max: 3 }),
      others: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const), owner }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('save' as const), writer, run, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), writer, run }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release' as const), writer, run, wakeIn }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('command' as const), run }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('consume' as const), writer, run }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), time: fc.constantFrom(1, lease / 2, lease, 2 * lease) }),
  },
);

eachStore((store) => {
  test('claims, leases, writes, releases and commands in any order do what the protocol says', async (t) => {
    const opened = await openRunStore(t, store);
    const { clock } = opened;
    const gateways = { one: opened.runs, two: await opened.another() };
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60, size: 'max' }), async (actions) => {
        round += 1;
        const prefix = `${round}-`;
        const model = new Map<string, ModelRun>();
        const believed: Record<'one' | 'two', Believed> = { one: new Map(), two: new Map() };
        const { one, two } = gateways;
        const mayWrite = (id: string, by: 'one' | 'two'): ModelRun | undefined => {
          const known = model.get(id);
          const isHeld = known !== undefined && !known.ended && known.owner !== undefined;
          return isHeld && known.fence === believed[by].get(id) ? known : undefined;
        };
        const begin = ['r0', 'r1'].map((name) => ({ kind: 'create' as const, run: name }));
        for (const each of [...begin, ...actions]) {
          const now = clock.now();
          const id = 'run' in each ? `${prefix}${each.run}` : '';
          const known = model.get(id);
          const by = gatewayOf('owner' in each ? each.owner : 'writer' in each ? each.writer : 'one', known);
          const claim = { id, fence: believed[by].get(id) ?? 0 };
          switch (each.kind) {
            case 'create':
              await one.create([newRun({ id })]);
              if (known === undefined) {
                const fresh = {
                  owner: undefined,
                  fence: 0,
                  abandonedClaims: 0,
                  due: now,
                  state: undefined,
                  ended: false,
                  commands: 0,
                };
                model.set(id, fresh);
              }
              break;
            case 'claim': {
              const may = ({ owner: holder }: ModelRun): boolean => each.others || holder === undefined || holder === by;
              const due = [...model].filter(([, known]) => known.due !== undefined && known.due <= now && may(known));
              const claimed = await gateways[by].claim({ owner: by, limit: each.limit, lease, takesOver: () => each.others });
              assert.equal(claimed.length, Math.min(each.limit, due.length));
              const dues = claimed.map((run) => model.get(run.id)?.due ?? Number.NaN).sort((a, b) => a - b);
              const wanted = due.map(([, run]) => run.due ?? 0).sort((a, b) => a - b);
              assert.deepEqual(dues, wanted.slice(0, each.limit), 'the longest due come first');
              for (const { id: claimedId, fence, abandonedClaims, state } of claimed) {
                const taken = model.get(claimedId);
                assert.ok(taken !== undefined);
                if (taken.owner !== undefined && taken.owner !== by) taken.abandonedClaims += 1;
                taken.owner = by;
                assert.ok(fence > taken.fence);
                taken.fence = fence;
                taken.due = now + lease;
                believed[by].set(claimedId, taken.fence);
                assert.deepEqual([abandonedClaims, state?.text], [taken.abandonedClaims, taken.state]);
              }
              break;
            }
            case 'renew': {
              const { held, waiting } = await gateways[by].renew({ owner: by, lease, runs: [...believed[by].keys()] });
              const mine = [...model].filter(([, { owner: holder }]) => holder === by);
              assert.deepEqual(held, new Map(mine.map(([mineId, { fence }]) => [mineId, fence])));
              assert.deepEqual(
                [...waiting].toSorted(),
                mine
                  .filter(([, { commands }]) => commands > 0)
                  .map(([mineId]) => mineId)
                  .toSorted(),
              );
              for (const [, mineRun] of mine) mineRun.due = now + lease;
              break;
            }
            case 'command':
              assert.equal(await two.command(id, { kind: 'cancel' }), known !== undefined && !known.ended);
              if (known !== undefined && !known.ended) {
                known.commands += 1;
                if (known.owner === undefined) known.due = Math.min(known.due ?? now, now);
              }
              break;
            case 'pass':
              clock.pass(each.time);
              break;
            case 'save':
            case 'end':
            case 'release':
            case 'consume': {
              const writable = mayWrite(id, by);
              const queued = await one.commandsOf([id]);
              if (known?.ended !== true) assert.equal(queued.length, known?.commands ?? 0);
              const state = each.kind === 'save' ? { text: each.text, values: new Map<string, string>() } : undefined;
              const kept = { text: writable?.state ?? 'x', values: new Map<string, string>() };
              const wakeAt = each.kind === 'release' && each.wakeIn !== undefined ? now + each.wakeIn : undefined;
              const write = {
                save: stepOf(claim, { state }),
                end: stepOf(claim, ending),
                release: stepOf(claim, { state: kept, ...released({ wakeAt }) }),
                consume: stepOf(claim, { state: kept, consumed: queued.map(({ number }) => number) }),
              }[each.kind];
              assert.equal(await gateways[by].save(write), writable === undefined ? 'lost' : 'saved');
              if (writable === undefined) break;
              writable.abandonedClaims = 0;
              writable.state = write.state?.text;
              if (each.kind === 'consume') writable.commands = 0;
              if (each.kind === 'end') Object.assign(writable, { ended: true, owner: undefined, due: undefined });
              if (each.kind === 'release') {
                writable.owner = undefined;
                writable.due = writable.commands > 0 ? now : wakeAt;
              }
              break;
            }
          }
          const dues = [...model.values()].flatMap(({ due }) => (due === undefined ? [] : [due]));
          assert.equal(await two.nextWake(), dues.length === 0 ? undefined : Math.min(...dues));
        }
        // The next round begins with a store where no run is due.
        clock.pass(10 * lease);
        for (const each of await one.claim({ owner: 'last', limit: 100, lease })) await one.save(stepOf(each, ending));
        for (const [id, { ended }] of model) {
          if (ended || (await one.read(id))?.status === 'completed') continue;
          await one.command(id, { kind: 'cancel' });
        }
        for (const each of await one.claim({ owner: 'last', limit: 100, lease })) await one.save(stepOf(each, ending));
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });
});
