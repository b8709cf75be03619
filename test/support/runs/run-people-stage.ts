import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Reply } from '../callers/http-client.ts';
import {
  basic,
  type configurationOf,
  type Gateway,
  startGateway,
  testPassword,
  testPasswordHash,
} from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { until } from '../until.ts';
import { type CountingUpstream, countingUpstream } from './counting-upstream.ts';

/** A run as far as these tests look at it. */
interface PeopledRun {
  readonly id: string;
  readonly version: string;
  readonly status: string;
  readonly suspendedBy?: string;
  readonly workflowDigest?: string;
  readonly output?: unknown;
  readonly error?: { readonly type: string; readonly detail?: string };
  readonly parent?: { readonly run: string };
  readonly involved: readonly { readonly principal: string; readonly as: readonly string[] }[];
}

const goType = 'net.example.go';

/** A task that waits for `goOn`. */
export const listening = { wait: { listen: { to: { one: { with: { type: goType } } } } } };

/** ann and bob are admins, eve an engineer, otto may only run what a group lets him run. */
export const stagePeople = {
  ann: { roles: ['admin'], groups: [] },
  bob: { roles: ['admin'], groups: [] },
  eve: { roles: ['engineering'], groups: [] },
  otto: { roles: ['other'], groups: ['noc'] },
} as const;

type Name = keyof typeof stagePeople;

type Roles = Readonly<Record<string, { readonly roles: readonly string[]; readonly groups: readonly string[] }>>;

export function usersOf(people: Roles): readonly Readonly<Record<string, unknown>>[] {
  return Object.entries(people).map(([username, given]) => ({ username, passwordHash: testPasswordHash, ...given }));
}

export interface PeopleStage {
  readonly gateway: Gateway;
  readonly far: CountingUpstream;
  /** What the gateway is configured with, and these people in the place of those of the beginning. */
  readonly configured: (people: Roles) => Parameters<typeof configurationOf>[0];
  readonly send: (as: Name, method: string, target: string, body?: unknown) => Promise<Reply>;
  /** Stores a version of `lab.NAME` whose tasks are given, and answers the reply. */
  readonly store: (as: Name, name: string, version: string, tasks: readonly object[]) => Promise<Reply>;
  /** Sends the event that `listening` waits for. */
  readonly goOn: (as: Name) => Promise<void>;
  /** Creates an automation of `lab.NAME`, which the group `noc` may run, as ann; answers its `_id`. */
  readonly automation: (name: string, more?: object) => Promise<string>;
  readonly start: (as: Name, automation: string, body?: object) => Promise<PeopledRun>;
  readonly read: (id: string) => Promise<PeopledRun>;
  readonly reaches: (id: string, ...statuses: readonly string[]) => Promise<PeopledRun>;
}

/** A gateway on the store, with an orchestrator `Far` that counts actions. */
export async function peopleStage(owner: Owner, store: TestStore): Promise<PeopleStage> {
  const far = await countingUpstream(owner);
  const url = storeUrl(await store.empty(owner));
  const configured: PeopleStage['configured'] = (people) => ({
    config: { store: { url } },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    users: usersOf(people),
  });
  const gateway = await startGateway(owner, configured(stagePeople));
  return { gateway, far, configured, ...callersOf(() => gateway) };
}

/** `gateway` is asked for each request, since a test may start it again. */
export function callersOf(gateway: () => Pick<Gateway, 'send'>): Omit<PeopleStage, 'gateway' | 'far' | 'configured'> {
  const send: PeopleStage['send'] = (as, method, target, body) => {
    const headers = { Authorization: basic(as, testPassword), ...(body !== undefined && { 'Content-Type': 'application/json' }) };
    return gateway().send({ method, target, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };
  const asked = async <T>(wanted: Promise<Reply>, status: number): Promise<T> => {
    const reply = await wanted;
    assert.equal(reply.status, status, reply.text);
    return reply.json() as T;
  };
  const read: PeopleStage['read'] = (id) => asked(send('ann', 'GET', `/runs/${id}`), 200);
  return {
    send,
    store: (as, name, version, tasks) =>
      send(as, 'POST', '/automation_catalog/workflows', {
        document: { dsl: '1.0.3', namespace: 'lab', name, version },
        do: tasks,
      }),
    async goOn(as) {
      const event = { specversion: '1.0', id: randomUUID(), source: 'https://tests.example.net', type: goType };
      const headers = { Authorization: basic(as, testPassword), 'Content-Type': 'application/cloudevents+json' };
      const reply = await gateway().send({ method: 'POST', target: '/events', headers, body: JSON.stringify(event) });
      assert.equal(reply.status, 204, reply.text);
    },
    async automation(name, more = {}) {
      const data = { workflowId: `lab.${name}`, gbac: { write: ['noc'], read: [] }, ...more };
      const body = { name: `${name} ${Math.random()}`, data };
      return (await asked<{ readonly _id: string }>(send('ann', 'POST', '/automation_catalog/automations', body), 201))._id;
    },
    start: (as, automation, body) => asked(send(as, 'POST', `/automation_catalog/automations/${automation}/run`, body), 201),
    read,
    async reaches(id, ...statuses) {
      let run = await read(id);
      await until(`run ${id} is ${statuses.join(' or ')}`, async () => {
        if (!statuses.includes(run.status)) run = await read(id);
        return statuses.includes(run.status);
      });
      return run;
    },
  };
}

/** Who is involved in a run, as one text for each principal, in alphabetical order. */
export function involvedIn({ involved }: Pick<PeopledRun, 'involved'>): readonly string[] {
  return involved.map(({ principal, as }) => `${principal}: ${as.join(' ')}`).toSorted();
}
