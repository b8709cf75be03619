import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type CliRun, runCommandLine } from './support/gateway/run-command-line.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// A day of an engineer who is no admin, by the command line alone: a workflow is written, checked, tried, stored and scheduled.

const far = await upstream({ after });
far.answer(() => jsonReply('{"in-sync":true}'));

const objects =
  `createWorkflow checkWorkflow readWorkflow listWorkflows deleteWorkflow createAutomation readAutomation listAutomations
  patchAutomation runAutomation listRuns readRun listRunTasks readTask readTaskData followRun rerunRun`.split(/\s+/u);
const roles = [
  {
    name: 'noc',
    allows: [
      { routes: objects, workflows: ['noc.*'] },
      { routes: ['restQuery'], adapters: ['NSO A'], via: ['run'] },
    ],
  },
];
const users = ['nora', 'tom'].map((username) => ({
  username,
  passwordHash: testPasswordHash,
  roles: username === 'nora' ? ['noc'] : ['readonly'],
}));
const adapter = { kind: 'rest', url: far.url, auth: { type: 'none' } };
const gateway = await startGateway(
  { after },
  {
    users,
    config: { access: { roles } },
    adapters: [
      { ...adapter, name: 'NSO A' },
      { ...adapter, name: 'NSO B' },
    ],
  },
);

function typed(line: string, files: Readonly<Record<string, string>> = {}, user = 'nora'): Promise<CliRun> {
  const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: user, GATEWAY_PASSWORD: testPassword };
  const words = [...line.matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, word = '']) => quoted ?? word);
  return runCommandLine({ after }, words, { env, files });
}

async function done(line: string, files?: Readonly<Record<string, string>>): Promise<CliRun> {
  const run = await typed(line, files);
  assert.equal(run.code, 0, `${line}\n${run.out}${run.err}`);
  return run;
}

const workflow = (
  version: string,
  adapterName: string,
  task = 'checkSync',
): string => `document: { dsl: 1.0.3, namespace: noc, name: check, version: ${version} }
do:
  - ${task}:
      call: orchestratorQuery
      with:
        adapter: ${adapterName}
        params:
          path: "\${ \\"devices/device=\\" + .device }"
          accept: application/json
`;

test('an engineer without the role admin writes, checks, tries, stores and schedules a workflow by commands alone', async () => {
  // What runs tonight: a release, scheduled.
  await done('workflows store check.yaml', { 'check.yaml': workflow('1.0.0', 'NSO A', 'tonight') });
  const tonight = {
    name: 'Nightly check',
    nextRunAt: '2999-01-01T22:00:00Z',
    data: { workflowId: 'noc.check', input: { device: 'ce0' } },
  };
  await done('automations create tonight.json', { 'tonight.json': JSON.stringify(tonight) });

  // A slip of the pen is shown with its line, by the offline check and by the gateway.
  const slip = workflow('1.1.0', 'NSO A').replace('accept', 'acept');
  for (const command of ['check-workflow', 'workflows store', 'workflows try']) {
    const { code, err } = await typed(`${command} check.yaml`, { 'check.yaml': slip });
    assert.equal(code, 1, command);
    assert.match(
      err,
      /^check\.yaml:9:11: \/do\/0\/checkSync\/with\/params\/acept: .*\n {14}acept: application\/json\n {14}\^$/mu,
      command,
    );
  }
  // An adapter of others, and a workflow outside of the right, are refused at their place.
  const foreign = await typed('workflows store check.yaml', { 'check.yaml': workflow('1.1.0', "'NSO B'") });
  assert.equal(foreign.code, 1);
  assert.match(
    foreign.err,
    /^check\.yaml:4:7: \/do\/0\/checkSync: calls orchestratorQuery: .*\n {10}call: orchestratorQuery\n {10}\^$/mu,
  );
  const outside = await typed('workflows store check.yaml', { 'check.yaml': workflow('1.1.0', 'NSO A').replace('noc', 'core') });
  assert.deepEqual([outside.code, /createWorkflow/u.test(outside.err)], [1, true], outside.err);

  // On one device, as a version that no schedule takes.
  const files = { 'check.yaml': workflow('1.1.0', 'NSO A'), 'one.yaml': 'device: ce7\n' };
  await done('check-workflow check.yaml', files);
  const tried = await done('workflows try check.yaml --input one.yaml --follow', files);
  assert.match(tried.err, /^Stored noc\.check 1\.0\.1-dev\.1\.$/mu);
  assert.match(
    tried.out,
    /^run \S+ of "Nightly check": noc\.check 1\.0\.1-dev\.1\n.* completed {2}checkSync .*\ncompleted after /mu,
  );
  assert.deepEqual(
    far.requests.map(({ target }) => target),
    ['/devices/device=ce7'],
  );
  const again = await done('workflows try check.yaml --input one.yaml', files);
  assert.match(again.err, /^Stored noc\.check 1\.0\.1-dev\.2\.$/mu);
  const shown = await done(`runs show ${again.out.trim()}`);
  assert.match(shown.out, /^workflow {4}noc\.check 1\.0\.1-dev\.2$/mu);
  await until('the second trial ended', async () =>
    /^status +completed/mu.test((await done(`runs show ${again.out.trim()}`)).out),
  );
  assert.match((await done(`runs show ${again.out.trim()}`)).out, / completed .* checkSync$/mu);
  // What the task got and gave.
  const { out: data } = await done(`runs show ${again.out.trim()} --task checkSync`);
  assert.match(data, /^arguments {3}\{.*"path":"devices\/device=ce7".*\}$/mu);
  assert.match(data, /^output {6}.*in-sync/mu);

  // Tonight's run is what it was.
  const before = JSON.parse((await done("automations show 'nightly CHECK' --json")).out) as { nextRunAt: string; data: object };
  assert.equal(before.nextRunAt, '2999-01-01T22:00:00.000Z');
  const soon = new Date(Date.now() + 1_000).toISOString();
  await done(`automations set 'Nightly check' nextRunAt=${soon}`);
  const scheduled = async () =>
    (await done("runs list --automation 'Nightly check'")).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { version: string; startedBy: { schedule?: string } })
      .find(({ startedBy }) => startedBy.schedule !== undefined);
  await until('the schedule ran', async () => (await scheduled()) !== undefined);
  assert.equal((await scheduled())?.version, '1.0.0');

  // The release, and its schedule.
  assert.equal((await done('workflows store check.yaml', files)).out, 'noc.check 1.1.0\n');
  const difference = await done('workflows diff noc.check 1.0.0 1.1.0');
  assert.match(
    difference.out,
    /^--- noc\.check 1\.0\.0\n\+\+\+ noc\.check 1\.1\.0\n@@ -1,6 \+1,6 @@\n-document.*1\.0\.0 \}\n\+document.*1\.1\.0 \}\n do:\n- {2}- tonight:\n\+ {2}- checkSync:\n/u,
  );
  const weekdays = `name: Weekdays\ndata:\n  workflowId: noc.check\n  cron: 30 6 * * 1-5\n  timeZone: Europe/Berlin\n  input: { device: ce1 }\n`;
  await done('automations create weekdays.yaml', { 'weekdays.yaml': weekdays });
  const { nextRunAt } = JSON.parse((await done('automations show Weekdays --json')).out) as { readonly nextRunAt: string };
  const local = new Date(nextRunAt).toLocaleString('en-GB', {
    timeZone: 'Europe/Berlin',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  assert.match(local, /^(?:Mon|Tue|Wed|Thu|Fri)[, ]+06:30$/u);
  assert.match((await done('automations show Weekdays')).out, /^schedule {4}30 6 \* \* 1-5 \(Europe\/Berlin\)$/mu);

  // Two automations of one workflow: the trial asks which, and takes the one that is named.
  const several = await typed('workflows try check.yaml', files);
  assert.equal(several.code, 2);
  assert.match(several.err, /"Nightly check"\n {2}"Weekdays"\n$/u);
  await done('workflows try check.yaml --automation Weekdays --input one.yaml', files);
  assert.deepEqual((JSON.parse((await done('workflows list --json')).out) as { versions: string[] }[])[0]?.versions, [
    '1.1.1-dev.1',
    '1.1.0',
    '1.0.1-dev.2',
    '1.0.1-dev.1',
    '1.0.0',
  ]);
  // A change may wait: this run has none, and ends at once.
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await done(`run Weekdays --not-before ${later} --follow`);
  assert.match((await typed('statistics --step 1d', {}, 'admin-user')).out, /"completed":[5-9]/u);
  await done('automations pause Weekdays');
  assert.doesNotMatch((await done('automations show Weekdays')).out, /^next/mu);
  assert.match((await done('automations resume Weekdays')).out, /^Weekdays: next \d{4}-/u);
});

test('a trial of a workflow that no automation names makes one with its name, and a colleague who reads only gets 403', async () => {
  const files = {
    'new.yaml': 'document: { dsl: 1.0.3, namespace: noc, name: fresh, version: 0.3.0 }\ndo: [{ only: { set: { a: 1 } } }]\n',
  };
  const { err, out } = await done('workflows try new.yaml --follow', files);
  assert.match(err, /^Stored noc\.fresh 0\.3\.0-dev\.1\.$/mu);
  assert.match(out, /^run \S+ of "noc\.fresh": /u);
  const denied = await typed('workflows try new.yaml', files, 'tom');
  assert.equal(denied.code, 1);
  assert.match(denied.err, /the user tom may not do this|may not store it/u);
  const reply = await gateway.send({
    target: '/automation_catalog/workflows/noc.fresh?version=0.3.0-dev.2',
    headers: { Authorization: basic('nora', testPassword) },
  });
  assert.equal(reply.status, 404, 'the refused trial stored nothing');
});
