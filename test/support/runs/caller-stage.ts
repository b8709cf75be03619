import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { approvalCaller } from '../approvals/approval-caller.ts';
import type { Reply } from '../callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword, testPasswordHash } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { audience, identityProvider } from '../upstreams/identity-provider.ts';
import { type Assertion, isDryRun, personNso } from '../upstreams/person-nso.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const pem = (pair: { readonly privateKey: typeof rsa.privateKey }): string =>
  pair.privateKey.export({ type: 'pkcs8', format: 'pem' });

const people = {
  ann: { roles: ['admin', 'engineering'], groups: ['noc', 'lab'] },
  bob: { roles: ['admin'], groups: ['noc'] },
  max: { roles: ['admin', 'engineering'], groups: [] },
  lea: { roles: [], groups: ['noc-leads'] },
} as const;

/** Adapter instances are named after how an assertion travels. */
export const carriers = ['token', 'basic', 'bearer'] as const;
export type NamedCarrier = (typeof carriers)[number];
export const relayKinds = ['restQuery', 'restAction', 'restRequest', 'preview'] as const;
export const accept = 'application/yang-data+json';
export const as = (name: string): string => basic(name, testPassword);

export type CallerStage = Awaited<ReturnType<typeof callerStage>>;

/** Orchestrators that see the person, an issuer, and, once `start` has begun it, a gateway that sends each call as its caller. */
export async function callerStage(owner: Owner) {
  const nso = await personNso(owner, rsa.publicKey);
  const plain = await personNso(owner, ed.publicKey);
  const issuer = await identityProvider(owner);
  const oidcOf = (subject: string): string => `oidc:${JSON.stringify([issuer.issuer, subject])}`;
  const mapping = {
    users: { bot: 'robot', [oidcOf('4711')]: 'olga' },
    userClaims: { [issuer.issuer]: 'login' },
    groups: { 'group:noc': 'ncsoper', 'group:lab': 'labs', 'role:engineering': 'ncsadmin' },
    authors: ['group:trusted'],
    key: pem(rsa),
    service: { type: 'basic', username: 'probe', password: 'probe' },
  };
  let started: Gateway | undefined;
  let url: string | undefined;
  /** Requests before the present gateway. */
  let before = { token: 0, basic: 0, bearer: 0 };
  const gateway = (): Gateway => {
    assert.ok(started);
    return started;
  };
  /** `more`: of `auth`. `persons`: `access.persons`. */
  const configured = (more: object = {}, persons: object = {}) => {
    const nsoAdapter = { kind: 'nso', url: nso.far.url };
    const auth = { type: 'caller', ...mapping, ...more };
    return {
      users: Object.entries(people).map(([username, given]) => ({ username, passwordHash: testPasswordHash, ...given })),
      adapters: [
        { ...nsoAdapter, name: 'token', auth },
        { ...nsoAdapter, name: 'basic', auth: { ...auth, carrier: 'basic', audience: 'lab' } },
        { kind: 'restconf', url: plain.far.url, name: 'bearer', auth: { ...auth, key: pem(ed) } },
      ],
      config: {
        ...(url !== undefined && { store: { url } }),
        server: { publicUrl: 'https://gateway.example.net' },
        access: {
          oidc: [{ issuer: issuer.issuer, audience }],
          clients: ['bot', 'stray'].map((clientId) => ({
            clientId,
            secretHash: testPasswordHash,
            roles: ['admin'],
            groups: [],
          })),
          persons,
        },
        approvals: [{ name: 'asked', when: { paths: ['**/approved', '**/approved-*'] }, approvers: { groups: ['noc-leads'] } }],
      },
    };
  };
  const send = (authorization: string, method: string, target: string, body?: unknown, more: object = {}): Promise<Reply> => {
    const headers = { Authorization: authorization, 'Content-Type': 'application/json', ...more };
    return gateway().send({ method, target, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };
  const relay = (authorization: string, route: string, adapter: string, params: object, more: object = {}): Promise<Reply> => {
    const body = { params: { accept, ...params }, ...(route === 'restQuery' ? {} : { body: { 'a:b': 1 } }) };
    return send(authorization, 'POST', `/orchestrator_manager/${route}/${adapter}`, body, more);
  };
  const ofCarrier = { token: nso, basic: nso, bearer: plain };
  return {
    nso,
    plain,
    issuer,
    ofCarrier,
    mapping,
    oidcOf,
    configured,
    gateway,
    send,
    relay,
    grant: approvalCaller(gateway).grant,
    start: async (one: Owner, store: TestStore): Promise<void> => {
      url = storeUrl(await store.empty(one));
      before = { token: nso.ofPeople.length, basic: nso.ofPeople.length, bearer: plain.ofPeople.length };
      started = await startGateway(one, configured());
    },
    asClient: async (id: string): Promise<string> => {
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: id,
        client_secret: testPassword,
      }).toString();
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const reply = await gateway().send({ method: 'POST', target: '/oauth/token', headers, body });
      return `Bearer ${(reply.json() as { readonly access_token: string }).access_token}`;
    },
    asPerson: async (claims: object): Promise<string> => `Bearer ${await issuer.token({ roles: ['admin'], ...claims })}`,
    /** What the orchestrator learned by the last call. Previews of approvals are taken in the background. */
    lastOf: (carrier: NamedCarrier, isPreview = false): Assertion => {
      const assertion = ofCarrier[carrier].ofPeople.findLast(({ target }) => isDryRun(target) === isPreview)?.assertion;
      assert.ok(assertion);
      return assertion;
    },
    /** What the orchestrator learned by the calls to a path with this text. */
    assertionsOf: (text: string, carrier: NamedCarrier, isPreview = false): readonly Assertion[] =>
      ofCarrier[carrier].ofPeople
        .slice(before[carrier])
        .flatMap(({ target, assertion }) =>
          assertion !== undefined && target.includes(text) && isDryRun(target) === isPreview ? [assertion] : [],
        ),
    call: async (
      person: string,
      kind: (typeof relayKinds)[number],
      carrier: NamedCarrier,
      name = 'x',
      more: object = {},
    ): Promise<Reply> => {
      const path = name === 'approved' ? 'restconf/data/x/approved' : `restconf/data/t:${name}`;
      const method = kind === 'restRequest' || kind === 'preview' ? { method: 'PUT' } : {};
      return await relay(as(person), kind, carrier, { path, ...method }, more);
    },
  };
}
