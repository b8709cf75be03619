import type { TestContext } from 'node:test';
import type { Access } from '../../../src/access/access.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { noRights } from '../../../src/access/rights/rights.test-support.ts';
import type { AuditFacts } from '../../../src/audit/audit-entry.ts';
import type { AuditLog } from '../../../src/audit/audit-log.ts';
import { createAutomationCatalogue } from '../../../src/automations/automation-catalogue.ts';
import type { GivenAutomation } from '../../../src/automations/automation-document.ts';
import { visibleTo } from '../../../src/automations/store/automation-list-store.ts';
import { createAutomationStore } from '../../../src/automations/store/automation-store.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { noLog } from '../../../src/base/log.ts';
import { decideEntry } from '../../../src/calls/decide-entry.ts';
import { eventRoutes } from '../../../src/http/routes/runs/event-routes.ts';
import { runRoutes } from '../../../src/http/routes/runs/run-routes.ts';
import { createHttpServer, type HttpServer } from '../../../src/http/server.ts';
import { createRunCatalogue } from '../../../src/runs/catalogue/run-catalogue.ts';
import { ending, stepOf } from '../../../src/runs/journal/run-records.test-support.ts';
import type { ClaimedRun, RunWrite } from '../../../src/runs/journal/run-records.ts';
import { createRunStore, type RunStore } from '../../../src/runs/journal/run-store.ts';
import { createRunPeople } from '../../../src/runs/people/run-people.ts';
import { createSecretValues } from '../../../src/runs/secrets/secret-values.ts';
import type { Workflow } from '../../../src/workflows/workflow.ts';
import { type Reply, type Request, send } from '../callers/http-client.ts';
import { sqliteStore, type TestStore } from '../stores/stores.ts';

const principals: readonly Principal[] = [
  { id: 'ada', username: 'ada', roles: ['admin'], groups: [] },
  { id: 'eve', username: 'eve', roles: ['engineering'], groups: [] },
  { id: 'otto', username: 'otto', roles: ['other'], groups: [] },
  { id: 'nora', username: 'nora', roles: [], groups: ['noc'] },
  { id: 'zoe', username: 'zoe', roles: [], groups: [] },
];

type Name = 'ada' | 'eve' | 'otto' | 'nora' | 'zoe';

/** A server with the routes of runs, over a store. What an engine does, the tests do themselves. */
export interface RunServer {
  readonly port: number;
  readonly server: HttpServer;
  readonly store: RunStore;
  /** Listeners of the catalogue for changes in the store. */
  readonly listeners: () => number;
  /** What the audit log got. */
  readonly recorded: readonly AuditFacts[];
  readonly send: (as: Name, request: Request) => Promise<Reply>;
  readonly post: (as: Name, target: string, body?: string, headers?: Readonly<Record<string, string>>) => Promise<Reply>;
  /** Creates an automation of the workflow `lab.sync`, and answers its `_id`. */
  automation(given?: Partial<GivenAutomation>): Promise<string>;
  /** Starts a run as ada, and answers its id. */
  start(automation: string, input?: string): Promise<string>;
  /** Claims the run, as an engine does. */
  claim(run: string): Promise<ClaimedRun>;
  step(run: ClaimedRun, given?: Partial<RunWrite>): Promise<void>;
}

export async function runServer(
  t: TestContext,
  { kind = sqliteStore, limit }: { readonly kind?: TestStore; readonly limit?: Parameters<typeof eventRoutes>[1] } = {},
): Promise<RunServer> {
  const database = await kind.open(t);
  const clock = systemClock;
  const store = createRunStore({ database, clock, visible: visibleTo });
  t.after(() => store.close());
  let listeners = 0;
  const counting: RunStore = {
    ...store,
    onChange(listener) {
      listeners += 1;
      const forget = store.onChange(listener);
      return () => {
        listeners -= 1;
        forget();
      };
    },
  };
  const automations = createAutomationStore(database);
  const workflow = { id: 'lab.sync', version: '1.0.0' } as Workflow;
  const pin = { ...workflow, digest: 'd16e57', storers: [{ id: 'eve', username: 'eve', lends: true }] };
  const recorded: AuditFacts[] = [];
  const intend = async (facts: AuditFacts) => ({
    outcome: async (more: AuditFacts) => void recorded.push({ ...facts, ...more }),
  });
  const runs = createRunCatalogue({
    store: counting,
    clock,
    retention: Infinity,
    rights: noRights,
    quota: { require: async () => {} },
    records: { list: async () => ({ list: [] }) },
    intendDecision: intend,
    automation: async (id) => {
      const found = await automations.read(id);
      const people = {
        authors: pin.storers,
        earlierAuthors: [],
        scheduler: undefined,
        resumer: undefined,
        formWriter: undefined,
      };
      return found && { automation: found.automation, input: undefined, people, passwordFields: [] };
    },
    automationNamed: (name) => automations.idNamed(name),
    workflow: async ({ id }) => (id === workflow.id ? { workflow } : undefined),
    reached: async ({ id }) => (id === workflow.id ? [{ pin, functions: [], chain: new Set([pin.digest]) }] : undefined),
    whyNotWriter: async ({ roles }) => (roles.includes('admin') ? undefined : 'needs the role admin'),
    people: createRunPeople({
      store,
      principalNow: async (id) => principals.find((each) => each.id === id),
      isGone: (id) => !principals.some((each) => each.id === id),
      storers: async () => new Map([[pin.digest, pin.storers]]),
      digestOf: async () => pin.digest,
      whyNotCall: () => undefined,
      whyNotSecrets: async () => undefined,
    }),
    inputProblems: async ({ input }) =>
      input.includes('"wrong"') ? [{ pointer: '/input', detail: 'is wrong, as the form says' }] : [],
    expressions: { evaluate: () => Promise.reject(new Error('No run here is suspended.')) },
    secrets: createSecretValues(() => ({})),
    isReadAction: () => false,
    seesApproval: async () => false,
  });
  const routes = runRoutes(runs, {
    base: 'https://gateway.example.net',
    preview: () => Promise.reject(new Error('No run here is suspended.')),
    findCommit: () => Promise.reject(new Error('No run here is suspended.')),
  }).filter(({ url }) => !url.endsWith('events'));
  const server = createHttpServer({
    server: { host: '127.0.0.1', port: 0, requestBodyLimit: 1_048_576, trustedProxies: [] },
    routes: [...routes, ...eventRoutes(runs, limit)],
    access: accessByName(),
    admits: (asked) => decideEntry({ ...asked, entrance: 'http', customRoles: [] }),
    audit: { intend, record: (facts: AuditFacts) => void recorded.push(facts) } as unknown as AuditLog,
    clock,
    log: noLog,
    watcher: { watchConnections() {}, requestStarted() {}, requestEnded() {}, attemptEnded() {} },
    pressure: { overloaded: false, refuse() {}, close() {} },
    rateLimit: () => undefined,
    limitReached: () => {},
  });
  const port = Number(new URL(await server.listen()).port);
  t.after(async () => {
    const closed = server.close();
    server.abort();
    await closed;
  });
  const sendAs: RunServer['send'] = (as, request) =>
    send(port, { ...request, headers: { Authorization: as, ...request.headers } });
  const post: RunServer['post'] = (as, target, body, headers = {}) =>
    sendAs(as, {
      method: 'POST',
      target,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body }),
    });
  const catalogue = createAutomationCatalogue({
    database,
    clock,
    rights: noRights,
    whyNotWriter: () => Promise.resolve(undefined),
    refuseAuthor: () => Promise.resolve(),
    asksAuthors: () => false,
  });
  return {
    port,
    server,
    store,
    listeners: () => listeners,
    recorded,
    send: sendAs,
    post,
    async automation(given = {}) {
      const [admin] = principals;
      const made = { name: `automation ${Math.random()}`, data: { workflowId: workflow.id }, ...given };
      const { id } = await catalogue.create({ principal: admin as Principal, given: made });
      return id;
    },
    async start(automation, input = '{}') {
      const reply = await post('ada', `/automation_catalog/automations/${automation}/run`, `{"input":${input}}`);
      return (reply.json() as { readonly id: string }).id;
    },
    async claim(run) {
      const claimed = await store.claim({ owner: 'engine', limit: 100, lease: 600_000 });
      const found = claimed.find(({ id }) => id === run);
      if (found === undefined) throw new Error(`the run ${run} cannot be claimed`);
      return found;
    },
    async step(run, given) {
      const outcome = await store.save(stepOf(run, given));
      if (outcome !== 'saved') throw new Error('the step is lost');
    },
  };
}

/** The `Authorization` header is the name of the caller. */
function accessByName(): Access {
  const authenticate: Access['authenticate'] = ({ authorization }) => {
    const principal = principals.find(({ id }) => id === authorization);
    if (principal === undefined) throw new Error(`no principal ${authorization}`);
    return { principal, via: 'basic' };
  };
  const again: Pick<Access, 'authenticateAgain' | 'rightsOf'> = {
    authenticateAgain: (caller) => Promise.resolve(caller),
    rightsOf: () => '',
  };
  return { authenticate, ...again } as Access;
}

/** The last step of a run, with its last event. */
export function lastStep(run: string, given: Partial<RunWrite> = {}): Partial<RunWrite> {
  return { ...ending, endedAt: Date.now(), events: [lifecycle(run, 'workflow.completed')], ...given };
}

/** A lifecycle event of a run. */
export function lifecycle(run: string, type: string, id = type): RunWrite['events'][number] {
  const event = { specversion: '1.0', id: `${run} ${id}`, source: `/runs/${run}`, type: `io.serverlessworkflow.${type}.v1` };
  return { at: Date.now(), kind: 'lifecycle', event: JSON.stringify(event) };
}
