import { createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/upstreams/upstream.ts';
import { start, temporaryDirectory } from './child.ts';
import { missingModules, modules, versionOf } from './node-rivals.ts';
import type { Rival } from './rival.ts';
import { requestOf } from './subjects.ts';

const secret = 'a secret of the benchmark, long enough for HS256';

/** RFC 7515, compact form. */
function signedToken(): string {
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ sub: 'bench', aud: 'engineering' })}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

/** YAML accepts JSON. The role is the token's audience, because expressions, the other way, make a new V8 context for each call. */
function configuration(port: number, upstream: string): object {
  const object = { type: 'object' };
  const schema = { $id: 'bench', type: 'object', required: ['params', 'body'], properties: { params: object, body: object } };
  return {
    http: { port, hostname: '127.0.0.1' },
    apiEndpoints: { action: { host: '*', paths: '/orchestrator_manager/restAction/*', methods: ['POST'] } },
    serviceEndpoints: { far: { url: upstream } },
    policies: ['jwt', 'proxy'],
    pipelines: {
      action: {
        apiEndpoints: ['action'],
        policies: [
          { jwt: [{ action: { secretOrPublicKey: secret, audience: 'engineering', checkCredentialExistence: false } }] },
          { proxy: [{ condition: { name: 'json-schema', schema, logErrors: false }, action: { serviceEndpoint: 'far' } }] },
        ],
      },
    },
  };
}

const system = {
  db: { redis: { emulate: true, namespace: 'EG' } },
  crypto: { cipherKey: 'sensitiveKey', algorithm: 'aes256', saltRounds: 10 },
  session: { secret: 'keyboard cat', resave: false, saveUninitialized: false },
  accessTokens: { timeToExpiry: 7200000 },
  refreshTokens: { timeToExpiry: 7200000 },
  authorizationCodes: { timeToExpiry: 300000 },
};

export const expressGateway: Rival = {
  name: 'express-gateway',
  about: 'signed token, role, schema of the body; no log, no audit, no metrics',
  route: 'restAction',
  version: () => versionOf('express-gateway') ?? '',
  missing: missingModules,
  start: async (owner, { upstream }) => {
    const [directory, port] = [temporaryDirectory(owner), await freePort()];
    mkdirSync(join(directory, 'models'));
    for (const model of ['users', 'credentials', 'applications'])
      writeFileSync(join(directory, 'models', `${model}.json`), JSON.stringify({ $id: model, type: 'object', properties: {} }));
    writeFileSync(join(directory, 'gateway.config.yml'), JSON.stringify(configuration(port, upstream)));
    writeFileSync(join(directory, 'system.config.yml'), JSON.stringify(system));
    const args = [join(modules, 'express-gateway/lib/index.js')];
    const environment = { EG_CONFIG_DIR: directory, LOG_LEVEL: 'error', NODE_ENV: 'production' };
    const started = await start(owner, { command: process.execPath, args, directory, port, environment });
    return { ...started, request: (route) => requestOf(route, { upstream, token: signedToken() }) };
  },
};
