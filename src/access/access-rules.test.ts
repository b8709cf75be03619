import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLog } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import { accessConfig, createTestClock, quickHash } from '../../test/support/gateway/access.ts';
import { type AccessRules, createAccessRules } from './access-rules.ts';
import type { AccessOptions, IssuerOptions } from './rights/access-options.ts';

const issuer: IssuerOptions = {
  issuer: 'https://idp',
  audience: 'gateway',
  rolesClaim: 'roles',
  groupsClaim: 'groups',
  algorithms: ['ES256'],
  remember: 1,
  consoleClientId: 'console',
};

function rulesOf(config: AccessOptions, previous?: AccessRules): AccessRules {
  const fetch = (): never => assert.fail('nothing is fetched');
  return createAccessRules({ config, fetch, clock: createTestClock(), log: noLog, ...(previous && { previous }) });
}

test('a principal is gone that is not configured or is blocked, and so is each person of an issuer that is not', () => {
  const at = (name: string): string => `oidc:["${name}","4711"]`;
  const { isGone } = rulesOf(accessConfig({ oidc: [issuer], more: { blocked: ['admin', 'oidc:["https://idp","4712"]'] } }));
  assert.deepEqual(
    ['admin', 'reporting', 'unknown', at('https://idp'), 'oidc:["https://idp","4712"]', at('https://other')].map((id) =>
      isGone(id),
    ),
    [true, false, true, false, true, true],
  );
});

test('signing keys are kept for the tokens of the client that last longest', () => {
  const client = { clientId: 'robot', secretHash: quickHash('x'), roles: [], groups: [] };
  const longest = (clients: AccessOptions['clients']): number => rulesOf(accessConfig({ more: { clients } })).maxTokenLifetime;
  assert.deepEqual(
    [longest([]), longest([{ ...client, tokenLifetime: 1 }]), longest([{ ...client, tokenLifetime: 7_776_000_000 }])],
    [3_600_000, 3_600_000, 7_776_000_000],
  );
});

test('the fingerprint of sessions changes with the client of the console, its secret and the claims, and with nothing else', () => {
  const fingerprint = (more: Partial<IssuerOptions>, previous?: AccessRules): string | undefined =>
    rulesOf(accessConfig({ oidc: [{ ...issuer, ...more }] }), previous).issuers.get('https://idp')?.fingerprint;
  const plain = fingerprint({});
  assert.equal(plain, '_bwg1XarenaDbQMSa6tOtY', 'sessions of an earlier gateway go on');
  assert.equal(fingerprint({ audience: 'other', remember: 2, groupNames: {} }), plain);
  const secret = { consoleClientSecret: new Secret('one') };
  const before = rulesOf(accessConfig({ oidc: [{ ...issuer, ...secret }] }));
  const known = before.issuers.get('https://idp')?.fingerprint;
  assert.equal(fingerprint(secret), known, 'the same at every gateway');
  assert.equal(fingerprint({ consoleClientSecret: new Secret('one') }, before), known);
  const others = [
    { consoleClientSecret: new Secret('two') },
    { ...secret, consoleClientId: 'x' },
    { ...secret, rolesClaim: 'x' },
    {},
  ];
  assert.equal(new Set([known, ...others.map((more) => fingerprint(more, before))]).size, 5);
});
