import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { assertProblem } from './support/callers/calls.ts';
import { logLines, reloadWith } from './support/gateway/reloading.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { callersOf, listening, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { until } from './support/until.ts';

// docs/guides/people-who-leave.md, step by step: its configuration, its questions and its commands.

const page = readFileSync(new URL('../docs/guides/people-who-leave.md', import.meta.url), 'utf8');
const [, pasted = ''] = /```yaml\n(.*?)```/su.exec(page) ?? [];
const commands = [...page.matchAll(/```sh\n(.*?)```/gsu)].flatMap(([, block = '']) => block.trim().split('\n'));

interface Asked {
  readonly method: string;
  readonly target: string;
}

/** What a line of the page with curl asks for, as ann. */
function askedBy(line: string): Asked | undefined {
  const [, method = 'GET', target = ''] = /^curl -s -u ann(?: -X (\w+))? "\$GATEWAY(\S+)"$/u.exec(line) ?? [];
  return target === '' ? undefined : { method, target };
}

test('the steps of the page block bob, find what was his, and take it over', { timeout: 120_000 }, async (t) => {
  const gateway = await startGateway(t, { users: usersOf(stagePeople) });
  const { send, start, reaches, read } = callersOf(() => gateway);
  const document = { document: { dsl: '1.0.3', namespace: 'noc', name: 'check-one', version: '1.0.0' } };
  const steps = [listening, { check: { call: 'restCall', with: { verb: 'GET', uri: 'http://127.0.0.1:9/' } } }];
  assert.equal((await send('bob', 'POST', '/automation_catalog/workflows', { ...document, do: steps })).status, 201);
  const automation = { name: 'Check one', repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z' };
  const made = await send('bob', 'POST', '/automation_catalog/automations', {
    ...automation,
    data: { workflowId: 'noc.check-one' },
  });
  assert.equal(made.status, 201, made.text);
  const { _id: id } = made.json() as { readonly _id: string };
  const run = await start('bob', id);
  await reaches(run.id, 'waiting');

  await reloadWith(gateway, { users: usersOf(stagePeople), config: parse(pasted) as Readonly<Record<string, unknown>> });
  assert.equal((await gateway.send({ target: '/whoami', headers: { Authorization: basic('bob', testPassword) } })).status, 401);
  assert.equal((await reaches(run.id, 'suspended')).suspendedBy, 'person-gone');
  assertProblem(await send('ann', 'POST', `/automation_catalog/automations/${id}/run`), 409, 'delegation-lost');
  const stopped = 'an automation can no longer run after the reload';
  await until('the log names the automation', () =>
    logLines(gateway).some(({ msg, path }) => msg === stopped && path === 'Check one'),
  );

  const questions = commands.map(askedBy).filter((asked) => asked?.method === 'GET');
  assert.equal(questions.length, 4);
  for (const { method, target } of questions as readonly Asked[]) {
    const reply = await send('ann', method, target);
    assert.equal(reply.status, 200, reply.text);
    assert.match(reply.text, target.startsWith('/runs') ? new RegExp(run.id, 'u') : /"Check one"/u, target);
  }

  const env = {
    GATEWAY_URL: gateway.url,
    GATEWAY_USER: 'ann',
    GATEWAY_PASSWORD: testPassword,
  };
  for (const line of commands) {
    const asked = askedBy(line);
    if (asked === undefined) {
      const [program, ...words] = line.split(' ');
      assert.equal(program, 'orchestration-gateway', line);
      const { code, err } = await runCommandLine(t, words, { env });
      assert.equal(code, 0, err);
    } else if (asked.method !== 'GET') assert.equal((await send('ann', asked.method, asked.target)).status, 200, line);
  }

  const { data } = (await send('ann', 'GET', `/automation_catalog/automations/${id}`)).json() as {
    readonly data: { readonly owner?: string; readonly scheduledBy?: string };
  };
  assert.deepEqual([data.owner, data.scheduledBy], ['ann', 'ann']);
  const own = await start('ann', id);
  assert.deepEqual(
    (await read(own.id)).involved.find(({ principal }) => principal === 'bob')?.as.toSorted(),
    ['author', 'workflow'],
    'bob stays involved in what he wrote',
  );
  // The run of bob calls in his name: it is held again after people resume it.
  assert.equal((await send('ann', 'POST', `/runs/${run.id}/resume`)).status, 200);
  assert.equal((await reaches(run.id, 'suspended')).suspendedBy, 'person-gone');
  assert.equal((await send('ann', 'POST', `/runs/${run.id}/cancel`)).status, 200);
});
