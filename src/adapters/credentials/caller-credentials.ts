import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '#base/clock.ts';
import type { Secret } from '#base/secret.ts';
import { basicCredentials } from '#outbound/call/outbound-call.ts';
import type { CallerIdentity, Carrier } from './caller-identity.ts';
import { type Credentials, NoCredentials } from './credentials.ts';

interface CallerNeeds {
  /** For errors. */
  readonly name: string;
  readonly carrier: Carrier;
  /** PEM. */
  readonly key: Secret;
  readonly audience: string;
  /** `iss`. */
  readonly issuer: string;
  /** For the reads of the gateway itself. */
  readonly service: Credentials | undefined;
  readonly clock: Clock;
}

/** Seconds. */
const lifetime = 60;
/** Milliseconds. NSO keeps a Basic login for 10 s by user and password, so one assertion serves several calls. */
const basicServes = 30_000;
const maxKept = 10_000;

const signAsync = promisify(sign);

/** Each call has a signed assertion of who makes it, which the orchestrator verifies. */
export function createCallerCredentials(needs: CallerNeeds): Credentials {
  const { name, carrier, service } = needs;
  const key = createPresentKey(needs.key);
  const signers = new WeakMap<readonly string[], KeyObject>();
  const assert: Assert = (identity, signer) => assertionOf(identity, signer, needs);
  const forBasic = carrier === 'basic' ? keepForBasic(assert, needs.clock) : undefined;
  const headersOf = async (identity: CallerIdentity): Promise<readonly string[]> => {
    const signer = key();
    const assertion = await (forBasic ?? assert)(identity, signer);
    const headers = headersWith(carrier, identity, assertion);
    signers.set(headers, signer);
    return headers;
  };
  return {
    type: 'caller',
    hasOwn: service !== undefined,
    headers(scope, identity) {
      if (identity !== undefined) return headersOf(identity);
      if (service !== undefined) return service.headers(scope);
      throw new NoCredentials(
        `The adapter instance "${name}" has no credentials for reads of the gateway itself (auth.service).`,
      );
    },
    observe(reply, used, identity) {
      if (identity === undefined) return service?.observe(reply, used) ?? false;
      if (reply.status !== 401) return false;
      // Signed with the same key, no other assertion would be accepted.
      const isOther = (): boolean => key() !== signers.get(used);
      return isOther() || needs.key.renew().then(isOther);
    },
    basis: () => '',
    // NSO may send a token of its own for the person.
    withheld: [...new Set(['x-auth-token', 'set-cookie', ...(service?.withheld ?? [])])],
    close: async () => await service?.close(),
  };
}

/** The last value of the secret that is a key. */
function createPresentKey(secret: Secret): () => KeyObject {
  let text = secret.reveal();
  let key = createPrivateKey(text);
  return () => {
    const now = secret.reveal();
    if (now === text) return key;
    text = now;
    try {
      key = createPrivateKey(now);
    } catch {
      // Half a file, for example: the former key stays.
    }
    return key;
  };
}

type Assert = (identity: CallerIdentity, signer: KeyObject) => Promise<string>;

function headersWith(carrier: Carrier, { name }: CallerIdentity, assertion: string): readonly string[] {
  if (carrier === 'basic') return ['Authorization', basicCredentials(name, assertion)];
  return carrier === 'token' ? ['X-Auth-Token', assertion] : ['Authorization', `Bearer ${assertion}`];
}

/** By person and groups, without run and approval. */
function keepForBasic(assert: Assert, clock: Clock): Assert {
  const kept = new Map<string, { readonly at: number; readonly signer: KeyObject; readonly assertion: Promise<string> }>();
  return async ({ name, groups }, signer) => {
    const key = JSON.stringify([name, groups]);
    const now = clock.monotonic();
    const known = kept.get(key);
    if (known?.signer === signer && now - known.at < basicServes) return await known.assertion;
    if (kept.size >= maxKept) kept.clear();
    const assertion = assert({ name, groups }, signer);
    kept.set(key, { at: now, signer, assertion });
    return await assertion;
  };
}

async function assertionOf(
  { name, groups, run, approval }: CallerIdentity,
  key: KeyObject,
  { audience, issuer, clock }: CallerNeeds,
): Promise<string> {
  const isRsa = key.asymmetricKeyType === 'rsa';
  const now = Math.floor(clock.now() / 1_000);
  const act = { sub: 'orchestration-gateway', ...(run !== undefined && { run }), ...(approval !== undefined && { approval }) };
  const claims = { iss: issuer, aud: audience, sub: name, groups, jti: randomUUID(), iat: now, exp: now + lifetime, act };
  const signed = `${encode({ alg: isRsa ? 'RS256' : 'EdDSA', typ: 'JWT' })}.${encode(claims)}`;
  const signature = await signAsync(isRsa ? 'sha256' : undefined, Buffer.from(signed), key);
  return `${signed}.${signature.toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
