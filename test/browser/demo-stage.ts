import { type Gateway as Client, createGateway } from '../../client/src/gateway.ts';
import { readDemoAutomations } from '../../demo/demo-automations.ts';
import { startDemoOrchestrator } from '../../demo/demo-orchestrator.ts';
import { type Gateway, startGateway, testPassword, testPasswordHash } from '../support/gateway/start-gateway.ts';
import type { Owner } from '../support/owner.ts';
import { until } from '../support/until.ts';
import { type Upstream, upstream } from '../support/upstreams/upstream.ts';

/** A gateway with the automations of the demo and its orchestrator. lea approves changes of devices, as in the demo; kim is a second admin. */
export interface DemoStage {
  readonly gateway: Gateway;
  readonly admin: Client;
  /** Behind the adapter `Ticket system`. */
  readonly far: Upstream;
  /** `_id` of each automation by its name. */
  readonly automations: ReadonlyMap<string, string>;
  /** Runs an automation to its end: the id of the run. */
  run(automation: string, input?: object): Promise<string>;
  /** Starts to rename a device: the id of the approval that the run waits for. */
  renaming(device: string, hostname: string): Promise<string>;
  /** A run whose call left and got no answer: its id. */
  suspended(): Promise<string>;
  /** Creates an automation of that name whose schedule cannot run, and waits for its first due time. */
  skipped(name: string): Promise<void>;
}

const ticket = `
document: { dsl: '1.0.3', namespace: demo, name: open-ticket, version: '1.0.0', summary: Opens a ticket for a change. }
do:
  - open: { call: orchestratorAction, with: { adapter: Ticket system, params: { path: tickets, accept: application/json }, body: {} } }
  - close: { set: { ticket: '\${ .number }' } }
`;

export async function demoStage(owner: Owner): Promise<DemoStage> {
  const orchestrator = await startDemoOrchestrator();
  owner.after(() => orchestrator.close());
  const far = await upstream(owner);
  const gateway = await startGateway(owner, optionsOf(orchestrator.url, far.url));
  const admin = createGateway({ baseUrl: gateway.url, username: 'admin-user', password: testPassword });
  const automations = await fill(admin);
  const start = async (name: string, input: object): Promise<string> =>
    (await admin.runAutomation({ path: { id: automations.get(name) ?? '' }, body: { input: { ...input } } })).value.id;
  return {
    gateway,
    admin,
    far,
    automations,
    async run(name, input = {}) {
      const run = await start(name, input);
      await Array.fromAsync(admin.followRun({ path: { id: run } }));
      return run;
    },
    async renaming(device, hostname) {
      const run = await start('Rename a device', { device, hostname });
      let id: string | undefined;
      await until('the approval', async () => {
        id = (await admin.listApprovals({ query: { run, status: 'waiting' } })).value.list[0]?.id;
        return id !== undefined;
      });
      return id ?? '';
    },
    async suspended() {
      far.answer((_request, socket) => void socket.destroy());
      const run = await start('Open a ticket', {});
      await until('the run is suspended', async () => (await admin.readRun({ path: { id: run } })).value.status === 'suspended');
      return run;
    },
    async skipped(name) {
      const data = { workflowId: 'demo.nightly-check-sync', workflowVersion: '2.0.0' };
      const nextRunAt = new Date(Date.now() + 300).toISOString();
      const { _id } = (await admin.createAutomation({ body: { name, nextRunAt, repeatInterval: '1 week', data } })).value;
      await until('the due time is skipped', async () => {
        return (await admin.readAutomation({ path: { id: _id } })).value.lastSkip !== undefined;
      });
    },
  };
}

function optionsOf(orchestrator: string, far: string): NonNullable<Parameters<typeof startGateway>[1]> {
  const auth = { type: 'basic', username: 'admin', password: { env: 'ORCHESTRATOR_PASSWORD' } };
  const when = { routes: ['restRequest'], adapters: ['Local NSO'], paths: ['restconf/data/tailf-ncs:devices/**'] };
  return {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: orchestrator, auth },
      { name: 'Branch NSO', kind: 'nso', url: 'http://127.0.0.1:9', auth, health: { interval: '1s' } },
      { name: 'Ticket system', kind: 'rest', url: far, auth: { type: 'none' } },
    ],
    users: [
      { username: 'lea', passwordHash: testPasswordHash, roles: [], groups: ['noc-leads'] },
      { username: 'kim', passwordHash: testPasswordHash, roles: ['admin'], groups: [] },
    ],
    config: { approvals: [{ name: 'device-changes', when, approvers: { groups: ['noc-leads'] } }] },
    environment: { ORCHESTRATOR_PASSWORD: 'admin' },
  };
}

async function fill(admin: Client): Promise<ReadonlyMap<string, string>> {
  const own = {
    name: 'Open a ticket',
    workflow: ticket,
    inner: [],
    data: { workflowId: 'demo.open-ticket', description: 'Opens a ticket for a change.' },
  };
  const ids = new Map<string, string>();
  for (const { name, data, workflow, inner } of [...(await readDemoAutomations()), own]) {
    for (const rawBody of [...inner, workflow]) await admin.createWorkflow({ rawBody, contentType: 'application/yaml' });
    ids.set(name, (await admin.createAutomation({ body: { name, data } })).value._id);
  }
  return ids;
}
