import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { actionTask } from './support/runs/run-caller.ts';
import { peopleStage } from './support/runs/run-people-stage.ts';
import { eachStore } from './support/stores/stores.ts';

// POST /automation_catalog/automations/preview: what creating an automation would answer, without storing it.

interface Preview {
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  readonly warnings: readonly { readonly pointer: string; readonly detail: string }[];
  readonly next: readonly string[];
}

const automations = '/automation_catalog/automations';

eachStore((store) => {
  test('a preview has the errors and warnings of a creation and the next five times, and stores nothing', async (t) => {
    const { send, store: put } = await peopleStage(t, store);
    await put('ann', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    await put('ann', 'act', '1.0.0', [actionTask('act', '1')]);
    const preview = async (as: 'ann' | 'eve', body: object): Promise<Preview> => {
      const reply = await send(as, 'POST', `${automations}/preview`, body);
      assert.equal(reply.status, 200, reply.text);
      return reply.json() as Preview;
    };
    const pointersOf = (found: Preview['errors']): readonly string[] => found.map(({ pointer }) => pointer).toSorted();

    const weekdays = { cron: '30 6 * * 1-5', timeZone: 'Europe/Berlin', workflowId: 'lab.plain' };
    const good = await preview('ann', { name: 'good', data: weekdays });
    assert.deepEqual([good.errors, good.warnings, good.next.length], [[], [], 5]);
    for (const time of good.next) {
      const [day, at] = new Date(time)
        .toLocaleString('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit', minute: '2-digit' })
        .split(' ');
      assert.ok(at === '06:30' && !/S/u.test(day ?? ''), time);
    }
    // The clock goes forward between the second and the third.
    const nextRunAt = '2099-03-27T22:30:00.000Z';
    const daily = await preview('ann', {
      name: 'daily',
      nextRunAt,
      repeatInterval: '1 day',
      data: { timeZone: 'Europe/Berlin', workflowId: 'lab.plain' },
    });
    assert.deepEqual(daily.next, [
      nextRunAt,
      '2099-03-28T22:30:00.000Z',
      '2099-03-29T21:30:00.000Z',
      '2099-03-30T21:30:00.000Z',
      '2099-03-31T21:30:00.000Z',
    ]);
    assert.deepEqual((await preview('ann', { name: 'once', nextRunAt, data: { workflowId: 'lab.plain' } })).next, [nextRunAt]);
    assert.deepEqual((await preview('ann', { name: 'by hand', repeatInterval: '1 day' })).next, []);

    const bad = await preview('ann', { name: '', extra: 1, data: { ...weekdays, workflowVersion: 'new' } });
    assert.deepEqual(pointersOf(bad.errors), ['/data/workflowVersion', '/extra', '/name']);
    assert.deepEqual([bad.next, bad.warnings], [good.next, []], 'the times are there with errors too');
    const both = await preview('ann', { name: 'both', repeatInterval: '1 day', data: weekdays });
    assert.deepEqual([pointersOf(both.errors), both.next], [['/data/cron', '/repeatInterval'], []]);
    const missing = await preview('ann', { name: 'missing', data: { ...weekdays, workflowId: 'lab.none' } });
    assert.deepEqual([missing.errors, pointersOf(missing.warnings)], [[], ['/data/workflowId']]);

    const created = await send('ann', 'POST', automations, { name: 'good', data: weekdays });
    assert.equal(created.status, 201, 'the previews stored nothing');
    const [first] = good.next;
    assert.equal((created.json() as { readonly nextRunAt: string }).nextRunAt, first);
    assert.deepEqual(pointersOf((await preview('ann', { name: 'good', data: weekdays })).errors), ['/name']);
    // An engineer may not write a workflow with calls to an orchestrator, so that it may not choose it.
    const [refused, ...others] = (await preview('eve', { name: 'act', data: { workflowId: 'lab.act' } })).errors;
    assert.match(refused?.detail ?? '', /needs the right to write the workflow/u);
    assert.deepEqual(others, []);
    assertProblem(await send('otto', 'POST', `${automations}/preview`, { name: 'x' }), 403, 'forbidden');
  });

  test('a preview warns of an input that the workflow does not take', async (t) => {
    const { send } = await peopleStage(t, store);
    const stored = await send('ann', 'POST', '/automation_catalog/workflows', {
      document: { dsl: '1.0.3', namespace: 'lab', name: 'asks', version: '1.0.0' },
      input: { schema: { document: { type: 'object', required: ['device'] } } },
      do: [{ only: { set: { a: 1 } } }],
    });
    assert.equal(stored.status, 201, stored.text);
    const data = { workflowId: 'lab.asks', cron: '0 6 * * *' };
    const asked = (input: object) => send('ann', 'POST', `${automations}/preview`, { name: 'asks', data: { ...data, input } });
    const { errors, warnings } = (await asked({})).json() as Preview;
    assert.deepEqual([errors, warnings.map(({ pointer }) => pointer)], [[], ['/data/input/device']]);
    const good = (await asked({ device: 'R7' })).json() as Preview;
    assert.deepEqual([good.errors, good.warnings], [[], []]);
  });
});
