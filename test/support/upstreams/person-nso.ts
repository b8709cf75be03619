import { type KeyObject, verify } from 'node:crypto';
import type { Owner } from '../owner.ts';
import { type FarRequest, httpReply, jsonReply, type Upstream, upstream } from './upstream.ts';

/** What an assertion says. */
export interface Assertion {
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly groups: readonly string[];
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
  readonly act: { readonly sub: string; readonly run?: string; readonly approval?: string };
}

/** A call as the orchestrator sees it. */
interface PersonCall {
  readonly method: string;
  readonly target: string;
  /** Undefined: it came with other credentials. */
  readonly assertion: Assertion | undefined;
  /** The signed text. */
  readonly token: string | undefined;
  readonly request: FarRequest;
}

/** An orchestrator that verifies assertions. `answers`: by the name of the person, in place of 204. */
export interface PersonNso {
  readonly far: Upstream;
  readonly calls: readonly PersonCall[];
  /** Without those of probes and of the YANG library. */
  readonly ofPeople: readonly PersonCall[];
  readonly answers: Map<string, () => Buffer>;
  /** Members of its NACM groups, by group. */
  readonly members: Map<string, readonly string[]>;
}

const yang = 'application/yang-data+json';
const library =
  '{"ietf-yang-library:yang-library":{"module-set":[{"name":"common","module":[{"name":"tailf-ncs"},{"name":"tailf-ncs-commit-params"}]}]}}';

export async function personNso(owner: Owner, key: KeyObject): Promise<PersonNso> {
  const far = await upstream(owner);
  const answers = new Map<string, () => Buffer>();
  const members = new Map<string, readonly string[]>();
  const seen = (request: FarRequest): PersonCall => {
    const token = tokenIn(request);
    const { method, target } = request;
    return { method, target, token, assertion: token === undefined ? undefined : assertionIn(token, key), request };
  };
  far.answer((request) => {
    const { target, method, assertion } = seen(request);
    if (target.includes('ietf-yang-library')) return jsonReply(library, { type: yang });
    if (target.endsWith('/restconf') || target.includes('high-availability'))
      return jsonReply('{"ietf-restconf:restconf":{},"tailf-ncs:status":{"mode":"primary"}}', { type: yang });
    if (target.endsWith('/ietf-netconf-acm:nacm/groups')) {
      const group = [...members].map(([name, users]) => ({ name, 'user-name': users }));
      return jsonReply(JSON.stringify({ 'ietf-netconf-acm:groups': { group } }), { type: yang });
    }
    const answer = answers.get(assertion?.sub ?? '');
    if (answer !== undefined) return answer();
    if (target.includes('params=') && isDryRun(target)) return jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });
    return method === 'GET' ? jsonReply('{"a:b":1}', { type: yang }) : httpReply({ status: 204 });
  });
  return {
    far,
    answers,
    members,
    get calls() {
      return far.requests.map(seen);
    },
    get ofPeople() {
      return far.requests.map(seen).filter(({ target }) => !/ietf-yang-library|high-availability|nacm|\/restconf$/u.test(target));
    },
  };
}

/** The text of the commit parameters of a target; empty where it has none. */
export function paramsOf(target: string): string {
  const [, params = ''] = /[?&]params=([^&]*)/u.exec(target) ?? [];
  return Buffer.from(decodeURIComponent(params), 'base64').toString();
}

export function isDryRun(target: string): boolean {
  return paramsOf(target).includes('"dry-run"');
}

function tokenIn(request: FarRequest): string | undefined {
  const token = request.header('x-auth-token');
  if (token !== undefined) return token;
  const [, scheme, credentials = ''] = /^(Bearer|Basic) (.+)$/u.exec(request.header('authorization') ?? '') ?? [];
  if (scheme === 'Bearer') return credentials;
  const [, password = ''] = /^[^:]*:(.*)$/su.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return password.split('.').length === 3 ? password : undefined;
}

/** Throws where the signature is not that of the gateway. */
function assertionIn(token: string, key: KeyObject): Assertion {
  const [head = '', claims = '', signature = ''] = token.split('.');
  const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { readonly alg: string };
  const signed = Buffer.from(`${head}.${claims}`);
  const hash = alg === 'RS256' ? 'sha256' : undefined;
  if (!verify(hash, signed, key, Buffer.from(signature, 'base64url'))) throw new Error('The signature is of another key.');
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Assertion;
}
