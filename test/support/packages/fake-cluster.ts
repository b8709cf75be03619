import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { parse as parseYaml } from 'yaml';
import { listening } from '../listen.ts';
import type { Owner } from '../owner.ts';
import { temporaryFolder } from './packages.ts';

export interface ClusterObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly type?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** The plurals of the kinds, by the version of their API. */
const kinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  v1: { secrets: 'Secret', services: 'Service', configmaps: 'ConfigMap', persistentvolumeclaims: 'PersistentVolumeClaim' },
  'apps/v1': { deployments: 'Deployment' },
  'networking.k8s.io/v1': { ingresses: 'Ingress', networkpolicies: 'NetworkPolicy' },
  'policy/v1': { poddisruptionbudgets: 'PodDisruptionBudget' },
};

/** Members of a spec that Kubernetes never changes. */
const fixed: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['selector'],
  PersistentVolumeClaim: ['accessModes', 'storageClassName', 'resources'],
};

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const ok = (body: unknown): Reply => ({ status: 200, body });
const refusal = (code: number, reason: string, message = reason): Reply => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code },
});

/** What exists, for a client that asks before it installs. Undefined for other paths. */
function discovery(path: string): unknown {
  if (path === '/version') return { major: '1', minor: '33', gitVersion: 'v1.33.0', platform: 'linux/amd64' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: Object.keys(kinds).flatMap(groupOf) };
  const groupVersion = /^\/apis?\/([\w.-]+(?:\/v\d+)?)$/u.exec(path)?.[1] ?? '';
  const known = kinds[groupVersion];
  if (known === undefined) return undefined;
  const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
  const resources = Object.entries(known).map(([name, kind]) => ({ name, singularName: '', namespaced: true, kind, verbs }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function groupOf(groupVersion: string): readonly object[] {
  const [name, version] = groupVersion.split('/');
  if (version === undefined) return [];
  const only = { groupVersion, version };
  return [{ name, versions: [only], preferredVersion: only }];
}

/** The fields of a message of Protocol Buffers whose values have a length. */
function* fieldsOf(message: Buffer): Generator<readonly [field: number, value: Buffer]> {
  let at = 0;
  const varint = (): number => {
    let [value, shift, byte] = [0, 0, 0x80];
    for (; byte >= 0x80; shift += 7) {
      byte = message[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
    }
    return value;
  };
  while (at < message.length) {
    const tag = varint();
    const length = varint();
    // Of a number the varint was the value.
    if ((tag & 7) !== 2) continue;
    yield [tag >> 3, message.subarray(at, at + length)];
    at += length;
  }
}

function fieldOf(message: Buffer, wanted: number): Buffer {
  return [...fieldsOf(message)].find(([field]) => field === wanted)?.[1] ?? Buffer.alloc(0);
}

function entriesOf(message: Buffer, wanted: number, encoding: 'utf8' | 'base64'): Readonly<Record<string, string>> {
  const entries = [...fieldsOf(message)].filter(([field]) => field === wanted);
  return Object.fromEntries(entries.map(([, entry]) => [fieldOf(entry, 1).toString(), fieldOf(entry, 2).toString(encoding)]));
}

/** Helm sends the secrets in which it keeps its releases in the binary form of Kubernetes: four bytes, and a message that contains the secret. */
function secretOf(body: Buffer): ClusterObject {
  const secret = fieldOf(body.subarray(4), 2);
  const metadata = fieldOf(secret, 1);
  const own = { data: entriesOf(secret, 2, 'base64'), type: fieldOf(secret, 3).toString() };
  const named = { name: fieldOf(metadata, 1).toString(), labels: entriesOf(metadata, 11, 'utf8') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: named, ...own };
}

/** Keeps objects by the path of each, as far as Helm asks. */
class Objects {
  readonly kept = new Map<string, ClusterObject>();

  reply(method: string, { pathname, searchParams }: URL, body: Buffer): Reply {
    const found = discovery(pathname);
    if (found !== undefined) return ok(found);
    if (!pathname.includes('/namespaces/')) return refusal(404, 'NotFound', `${pathname} not found`);
    const named = /\/namespaces\/[^/]+\/[^/]+\/[^/]+$/u.test(pathname);
    if (method === 'GET' && !named) return ok(this.#list(pathname, searchParams.get('labelSelector') ?? ''));
    const present = this.kept.get(pathname);
    if (method === 'POST' || method === 'PUT' || (method === 'PATCH' && present === undefined))
      return this.#put(method, pathname, body);
    if (present === undefined) return refusal(404, 'NotFound', `${pathname} not found`);
    if (method === 'DELETE') this.kept.delete(pathname);
    return method === 'PATCH' ? this.#put(method, pathname, body) : ok(present);
  }

  #list(path: string, selector: string): unknown {
    const wanted = selector.split(',').filter((part) => part !== '');
    const items = [...this.kept]
      .filter(([at]) => at.startsWith(`${path}/`))
      .map(([, object]) => object)
      .filter(({ metadata }) =>
        wanted.every((part) => metadata.labels?.[part.split('=', 1)[0] ?? ''] === part.split('=').at(-1)),
      );
    const [, groupVersion = '', plural = ''] = /^\/apis?\/(.+)\/namespaces\/[^/]+\/([^/]+)$/u.exec(path) ?? [];
    const kind = `${kinds[groupVersion]?.[plural] ?? ''}List`;
    return { kind, apiVersion: groupVersion, metadata: { resourceVersion: '1' }, items };
  }

  #put(method: string, path: string, body: Buffer): Reply {
    const given = body.toString('latin1', 0, 3) === 'k8s' ? secretOf(body) : (parseYaml(body.toString()) as ClusterObject);
    const at = method === 'POST' ? `${path}/${given.metadata.name}` : path;
    const before = this.kept.get(at);
    if (method === 'POST' && before !== undefined) return refusal(409, 'AlreadyExists');
    const changed = (fixed[given.kind] ?? []).filter(
      (name) => before && !isDeepStrictEqual(before.spec?.[name], given.spec?.[name]),
    );
    if (changed.length > 0) return refusal(422, 'Invalid', `${given.kind}: ${changed.join()} is immutable`);
    const object = { ...given, metadata: { ...given.metadata, namespace: 'default', uid: randomUUID(), resourceVersion: '1' } };
    this.kept.set(at, object);
    return { status: before === undefined ? 201 : 200, body: object };
  }
}

/** A request that this stand-in does not understand gets an answer, too: Helm would wait. */
function attempt(reply: () => Reply): Reply {
  try {
    return reply();
  } catch (error) {
    return refusal(500, 'InternalError', String(error));
  }
}

/**
 * As much of the API of Kubernetes as Helm needs to install, upgrade and roll back. It keeps objects as they are applied, and refuses to change
 * what Kubernetes does not change; nothing runs. `objects`: those of the chart, by kind and name. `requests`: what it was asked.
 */
export async function fakeCluster(owner: Owner) {
  const objects = new Objects();
  const requests: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    void (async () => {
      const { method = '', url = '' } = request;
      const given = await buffer(request);
      const { status, body } = attempt(() => objects.reply(method, new URL(url, 'http://cluster'), given));
      requests.push(`${method} ${url} ${request.headers['content-type'] ?? ''} ${status}`);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    })();
  });
  const port = await listening(server);
  owner.after(() => void server.close());
  const folder = temporaryFolder(owner, 'cluster');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fake', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'tester', user: {} }],
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'tester', namespace: 'default' } }],
    'current-context': 'fake',
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config), { mode: 0o600 });
  const ofHelm = Object.fromEntries(['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(folder, 'helm')]));
  return {
    requests,
    environment: { ...process.env, ...ofHelm, KUBECONFIG: join(folder, 'kubeconfig') },
    objects: (): readonly ClusterObject[] => [...objects.kept.values()].filter(({ type }) => type !== 'helm.sh/release.v1'),
  };
}
