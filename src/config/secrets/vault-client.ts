import type { Secret } from '#base/secret.ts';
import type { CallScope } from '#outbound/call/call-scope.ts';
import { type OutboundCall, type UpstreamReply, wholeReplyLimit } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import { readRegularFile } from '../shapes/regular-file.ts';
import { failureOf, overOwnConnection } from './source-call.ts';
import type { SourceRead, ValueSource } from './value-source.ts';

export type VaultLogin =
  | { readonly kind: 'appRole'; readonly roleId: string; readonly secretId: Secret; readonly mount: string }
  | { readonly kind: 'kubernetes'; readonly role: string; readonly tokenFile: string; readonly mount: string }
  | { readonly kind: 'token'; readonly value: Secret };

interface VaultOptions {
  readonly url: string;
  readonly namespace?: string | undefined;
  /** PEM. */
  readonly ca?: string | undefined;
  readonly login: VaultLogin;
  /** Differs where any setting differs. */
  readonly key: string;
}

/** Milliseconds until a value is read again; sooner where the token ends sooner. */
const longestAge = 300_000;
const shortestAge = 1_000;

interface Session {
  readonly token: string;
  readonly isRenewable: boolean;
  /** Milliseconds; 0 does not end. */
  readonly lease: number;
  readonly since: number;
}

/** Ends a read; the message continues "the vault HOST …". */
class VaultFault extends Error {}

/** Reads the KV engine, version 2, over the documented HTTP API of HashiCorp Vault, which OpenBao has too. Writes nothing. */
export class VaultClient {
  /** Differs where any setting differs. */
  readonly key: string;
  readonly #options: VaultOptions;
  readonly #said: string;
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  /** By target: when another login did not help. Until the longest age is over, no further login makes a token for it. */
  readonly #denied = new Map<string, number>();

  constructor(options: VaultOptions) {
    this.#options = options;
    this.key = options.key;
    this.#said = `the vault ${new URL(options.url).host}`;
  }

  /** `path`: the mount, then the path without `data/`. */
  source(path: string, key: string): ValueSource {
    return {
      name: `vault ${path} ${key}`,
      key: JSON.stringify(['vault', path, key, this.#options.key]),
      ttl: longestAge,
      read: async () => {
        try {
          return await overOwnConnection(this.#options.ca, (sender, scope) => this.#read({ sender, scope }, path, key));
        } catch (failure) {
          return { fault: `${this.#said} ${failure instanceof VaultFault ? failure.message : failureOf(failure)}` };
        }
      },
    };
  }

  async #read(way: Way, path: string, key: string): Promise<SourceRead> {
    const [mount = '', ...rest] = path.split('/');
    const target = `${mount}/data/${rest.map(encodeURIComponent).join('/')}`;
    const reply = await this.#askAllowed(way, target);
    if (reply.status === 404) throw new VaultFault(`has nothing at ${path}`);
    if (reply.status !== 200) throw new VaultFault(`answered ${reply.status} for ${path}`);
    const value = memberIn(memberIn(memberIn(jsonOf(reply), 'data'), 'data'), key);
    if (typeof value !== 'string') throw new VaultFault(`has no text ${JSON.stringify(key)} at ${path} (KV version 2)`);
    const { lease = 0 } = this.#session ?? {};
    return { text: value, ...(lease === 0 ? {} : { renewIn: Math.max(shortestAge, Math.min(lease / 3, longestAge)) }) };
  }

  /** After a 403 with another token, once. */
  async #askAllowed(way: Way, target: string): Promise<UpstreamReply> {
    const session = await this.#present(way);
    const reply = await this.#ask(way, { target, token: session.token });
    if (reply.status !== 403) {
      this.#denied.delete(target);
      return reply;
    }
    if (performance.now() < (this.#denied.get(target) ?? Number.NEGATIVE_INFINITY) + longestAge) return reply;
    // The token was revoked, or has lost rights. Another read may have logged in meanwhile.
    if (this.#session === session) this.#session = undefined;
    const again = await this.#ask(way, { target, token: (await this.#present(way)).token });
    if (again.status === 403) this.#denied.set(target, performance.now());
    return again;
  }

  /** All who ask meanwhile share one login. */
  async #present(way: Way): Promise<Session> {
    const held = this.#session;
    const age = held === undefined ? 0 : performance.now() - held.since;
    if (held !== undefined && (held.lease === 0 || age < held.lease / 2)) return held;
    this.#opening ??= this.#open(way, held, age).finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /** Renews the token at half of its lease; where it cannot be renewed, logs in again. */
  async #open(way: Way, held: Session | undefined, age: number): Promise<Session> {
    const renewed = held?.isRenewable === true && age < held.lease ? await this.#renew(way, held) : undefined;
    this.#session = renewed ?? (await this.#logIn(way));
    return this.#session;
  }

  async #renew(way: Way, { token }: Session): Promise<Session | undefined> {
    const reply = await this.#ask(way, { target: 'auth/token/renew-self', token, body: {} });
    return reply.status === 200 ? sessionIn(memberIn(jsonOf(reply), 'auth'), token) : undefined;
  }

  async #logIn(way: Way): Promise<Session> {
    const { login } = this.#options;
    if (login.kind === 'token') return await this.#own(way, login.value);
    const first = await this.#postLogin(way, login);
    if (first.status === 200) return sessionOf(first);
    if (login.kind === 'appRole' && (first.status === 400 || first.status === 403)) {
      const used = login.secretId.reveal();
      await login.secretId.renew();
      if (login.secretId.reveal() !== used) {
        const second = await this.#postLogin(way, login);
        if (second.status === 200) return sessionOf(second);
      }
    }
    throw new VaultFault(`answered ${first.status} to the login (auth.${login.kind})`);
  }

  async #postLogin(way: Way, login: Exclude<VaultLogin, { readonly kind: 'token' }>): Promise<UpstreamReply> {
    const body =
      login.kind === 'appRole'
        ? { role_id: login.roleId, secret_id: login.secretId.reveal() }
        : { role: login.role, jwt: await jwtIn(login.tokenFile) };
    return await this.#ask(way, { target: `auth/${login.mount}/login`, body });
  }

  /** A token of the operator: its lease decides whether it is renewed. */
  async #own(way: Way, value: Secret): Promise<Session> {
    const look = async (): Promise<Session | undefined> => {
      const token = value.reveal();
      const reply = await this.#ask(way, { target: 'auth/token/lookup-self', token });
      const data = memberIn(jsonOf(reply), 'data');
      return reply.status === 200
        ? sessionIn({ lease_duration: memberIn(data, 'ttl'), renewable: memberIn(data, 'renewable') }, token)
        : undefined;
    };
    const found = await look();
    if (found !== undefined) return found;
    await value.renew();
    const second = await look();
    if (second === undefined) throw new VaultFault('refuses the token (auth.token)');
    return second;
  }

  async #ask({ sender, scope }: Way, { target, token, body }: VaultRequest): Promise<UpstreamReply> {
    const { url, namespace } = this.#options;
    const { origin, pathname } = new URL(url);
    const headers = {
      Accept: 'application/json',
      'X-Vault-Request': 'true',
      ...(token === undefined ? {} : { 'X-Vault-Token': token }),
      ...(namespace === undefined ? {} : { 'X-Vault-Namespace': namespace }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const call: OutboundCall = {
      origin,
      path: `${pathname.replace(/\/+$/u, '')}/v1/${target}`,
      method: body === undefined ? 'GET' : 'POST',
      headers: Object.entries(headers).flat(),
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      // A second token does no harm.
      stateChanging: false,
      timeouts: { firstByte: 0, idle: 0 },
      responseLimit: wholeReplyLimit,
    };
    return await sender.send(call, scope);
  }
}

interface Way {
  readonly sender: Sender;
  readonly scope: CallScope;
}

interface VaultRequest {
  /** After `/v1/`. */
  readonly target: string;
  readonly token?: string;
  readonly body?: object;
}

async function jwtIn(file: string): Promise<string> {
  const read = await readRegularFile(file, wholeReplyLimit);
  if ('fault' in read) throw new VaultFault(`cannot be logged in to: the file ${read.fault}`);
  return read.text.trim();
}

function sessionOf(reply: UpstreamReply): Session {
  const auth = memberIn(jsonOf(reply), 'auth');
  const token = memberIn(auth, 'client_token');
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/u.test(token))
    throw new VaultFault('answered a login without a token');
  return sessionIn(auth, token);
}

function sessionIn(auth: unknown, token: string): Session {
  const seconds = memberIn(auth, 'lease_duration');
  const lease = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : 0;
  return { token, lease, isRenewable: memberIn(auth, 'renewable') === true, since: performance.now() };
}

function jsonOf({ head }: UpstreamReply): unknown {
  try {
    return JSON.parse(head.toString('utf8'));
  } catch {
    return undefined;
  }
}

function memberIn(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
