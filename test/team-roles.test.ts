import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { assertProblem, callerIn, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { identityProvider } from './support/upstreams/identity-provider.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// docs/guides/team-roles.md: its configuration is pasted, and each cell of its table is tried.

const page = readFileSync(new URL('../docs/guides/team-roles.md', import.meta.url), 'utf8');
const [, pasted = ''] = /```yaml\n(.*?)```/su.exec(page) ?? [];
const tableLines = page.split('\n').filter((line) => line.startsWith('|'));
const [[, ...roles] = [], , ...rows] = tableLines.map((line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim()),
);

interface Pasted {
  readonly access: {
    readonly oidc: readonly { readonly audience: string; readonly groupNames: Readonly<Record<string, string>> }[];
  };
  readonly approvals: readonly object[];
}

const configuration = parse(pasted) as Pasted;
const [entry] = configuration.access.oidc;
assert.ok(entry);
const { audience, groupNames } = entry;
const [provider, far] = [await identityProvider({ after }), await upstream({ after })];
far.answer(() => jsonReply('{}'));
const gateway = await startGateway(
  { after },
  {
    // Of kind nso, the gateway would read the YANG library for each preview.
    adapters: [{ name: 'Local NSO', kind: 'restconf', url: far.url, auth: { type: 'none' } }],
    config: { ...configuration, access: { ...configuration.access, oidc: [{ ...entry, issuer: provider.issuer }], users: [] } },
  },
);

/** A person of the directory whose token has the id of the group of that role. */
async function as(role: string, sub = role): Promise<{ readonly headers: { readonly Authorization: string } }> {
  const [guid] = Object.entries(groupNames).find(([, group]) => group === `noc-${role}s`) ?? [];
  assert.ok(guid, role);
  const claims = { aud: audience, sub, preferred_username: sub, groups: [guid, 'another-guid'] };
  return { headers: { Authorization: `Bearer ${await provider.token(claims)}` } };
}

const author = await as('author');
const document = (name: string) => ({ document: { dsl: '1.0.3', namespace: 'noc', name, version: '1.0.0' } });
const change = { params: { method: 'PATCH', path: 'restconf/data/x', accept: 'application/yang-data+json' }, body: { a: 1 } };
const changing = [{ change: { call: 'orchestratorRequest', with: { adapter: 'Local NSO', params: change.params } } }];

async function created(reply: Promise<Reply>): Promise<{ readonly _id: string }> {
  const answer = await reply;
  assert.equal(answer.status, 201, answer.text);
  return answer.json() as { readonly _id: string };
}

await created(
  post(gateway, '/automation_catalog/workflows', { ...document('hello'), do: [{ only: { set: { a: 1 } } }] }, author),
);
const schedule = { repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z' };
const { _id: automation } = await created(
  post(gateway, '/automation_catalog/automations', { name: 'hello', data: { workflowId: 'noc.hello' }, ...schedule }, author),
);

const probes: Readonly<Record<string, (caller: Awaited<ReturnType<typeof as>>, role: string) => Promise<Reply>>> = {
  'list automations': (caller) => gateway.send({ target: '/automation_catalog/automations', ...caller }),
  'run an automation': (caller) => post(gateway, `/automation_catalog/automations/${automation}/run`, {}, caller),
  'pause its schedule': ({ headers }) =>
    gateway.send({
      method: 'PATCH',
      target: `/automation_catalog/automations/${automation}`,
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ nextRunAt: null }),
    }),
  'store a workflow': (caller, role) =>
    post(gateway, '/automation_catalog/workflows', { ...document(`by-${role}`), do: changing }, caller),
  'create an automation': (caller, role) =>
    post(gateway, '/automation_catalog/automations', { name: `by ${role}`, data: { workflowId: 'noc.hello' } }, caller),
  'ask for a change by hand': (caller) => post(gateway, '/orchestrator_manager/restRequest/Local%20NSO', change, caller),
  async 'grant a change'(caller) {
    const asked = await post(
      gateway,
      '/orchestrator_manager/restRequest/Local%20NSO',
      change,
      await as('administrator', 'asker'),
    );
    const id = assertProblem(asked, 403, 'approval-required').approval?.id;
    return await post(gateway, `/approvals/${id}/grant`, { reason: 'planned' }, caller);
  },
  'read the audit log': (caller) => gateway.send({ target: '/audit', ...caller }),
};

/** What is put before people was allowed. */
function isAllowed(reply: Reply): boolean {
  if (reply.status < 300) return true;
  const { code } = reply.json() as { readonly code: string };
  if (code === 'approval-required') return true;
  assert.ok(['forbidden', 'approval-not-found', 'automation-not-found'].includes(code), reply.text);
  return false;
}

test('the page has a role for each group, and tells what is tried here', () => {
  assert.deepEqual(
    roles.map((role) => `noc-${role}s`),
    Object.values(groupNames),
  );
  assert.deepEqual(rows.map(([what = '']) => what).toSorted(), Object.keys(probes).toSorted());
});

for (const [index, role] of roles.entries()) {
  test(`a person in the group of the ${role}s may do what the page says, and no more`, async () => {
    const caller = await as(role, `the-${role}`);
    for (const [what = '', ...cells] of rows) {
      const reply = await probes[what]?.(caller, role);
      assert.ok(reply);
      assert.equal(isAllowed(reply) ? 'yes' : '–', cells[index], `${what}: ${reply.text}`);
    }
  });
}

test('a token with the name of a group in place of its id gives no group, and allows nothing of the table', async () => {
  const claims = { aud: audience, sub: 'x', groups: ['noc-administrators'] };
  const caller = { headers: { Authorization: `Bearer ${await provider.token(claims)}` } };
  assert.deepEqual(callerIn(await gateway.send({ target: '/whoami', ...caller })), {
    username: 'x',
    roles: [],
    groups: [],
    issuer: provider.issuer,
    subject: 'x',
  });
  for (const [what, probe] of Object.entries(probes)) assert.equal(isAllowed(await probe(caller, 'none')), false, what);
});
