import assert from 'node:assert/strict';
import type { Reply } from '../callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { usersOf } from '../runs/run-people-stage.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { until } from '../until.ts';
import { jsonReply, type Upstream, upstream } from '../upstreams/upstream.ts';
import { approverGroups, type Gate, type Person, type Program, persons, type Step } from './hand-model.ts';

export const gates: readonly Gate[] = ([false, 'authors', true] as const).flatMap((self) => [
  { self, count: 1 },
  { self, count: 2 },
]);

function nameOf({ self, count }: Gate): string {
  return `${self}-${count}`;
}

const approvers = { groups: approverGroups };

/** A gateway with a rule for each gate, and an upstream. */
export interface HistoryStage {
  readonly gateway: Gateway;
  readonly far: Upstream;
  readonly send: (as: Person, method: string, target: string, body?: unknown, type?: string) => Promise<Reply>;
}

export async function historyStage(owner: Owner, store: TestStore): Promise<HistoryStage> {
  const far = await upstream(owner, ({ target }, socket) =>
    target.startsWith('/cut') ? void socket.destroy() : jsonReply('{}'),
  );
  const gateway = await startGateway(owner, {
    users: usersOf(persons),
    config: {
      store: { url: storeUrl(await store.empty(owner)) },
      outbound: { allow: [far.authority] },
      approvals: gates.map((gate) => ({
        name: nameOf(gate),
        when: { routes: ['restCall'], paths: [`**/${nameOf(gate)}/**`] },
        approvers,
        count: gate.count,
        selfApproval: gate.self,
      })),
    },
  });
  const send: HistoryStage['send'] = (as, method, target, body, type = 'application/json') => {
    const headers = { Authorization: basic(as, testPassword), ...(body !== undefined && { 'Content-Type': type }) };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return gateway.send({ method, target, headers, ...(body !== undefined && { body: text }) });
  };
  return { gateway, far, send };
}

/** Where the call of a run arrives, if it leaves. */
export function pathOf(gate: Gate, run: string): string {
  return `/${nameOf(gate)}/${run}`;
}

interface WrittenDocument {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly program: Program;
}

/** The document of a program. The types of its events begin with the namespace. */
export function documentOf({ namespace, name, version, program }: WrittenDocument, { far }: HistoryStage): object {
  const tasks = (steps: readonly Step[]) => steps.map((step, index) => ({ [`t${index}`]: taskOf(step, namespace, far.url) }));
  const [first = [], ...others] = program;
  const side = { side: { fork: { branches: program.map((steps, index) => ({ [`b${index}`]: { do: tasks(steps) } })) } } };
  return { document: { dsl: '1.0.3', namespace, name, version }, do: others.length === 0 ? tasks(first) : [side] };
}

function taskOf(step: Step, namespace: string, url: string): object {
  const post = (path: string) => ({
    call: 'restCall',
    with: { uri: `\${ "${url}${path}" + $workflow.id }`, verb: 'POST', body: {} },
  });
  switch (step.kind) {
    case 'act':
      return post(pathOf(step.gate, ''));
    case 'unsure':
      return post('/cut/');
    case 'ask': {
      const { self: selfApproval, count } = step.gate;
      return { call: 'approval', with: { message: 'Go on?', approvers, selfApproval, count } };
    }
    case 'listen':
      return { listen: { to: { one: { with: { type: `${namespace}.${step.event}` } } } } };
    case 'emit':
      return { emit: { event: { with: { type: `${namespace}.${step.event}`, source: 'https://tests.example.net' } } } };
    default:
      return { run: { workflow: { namespace, name: 'c', version: step.version } } };
  }
}

/** Tries again until the check passes: the gateway goes on in its own time. */
export async function soon(check: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + 8_000;
  await until('the gateway and the model agree', async () => {
    try {
      await check();
      return true;
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || performance.now() > deadline) throw error;
      return false;
    }
  });
}
