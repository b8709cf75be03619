import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { executable } from '../../test/support/gateway/gateway-process.ts';
import { configurationOf, testPassword } from '../../test/support/gateway/start-gateway.ts';
import type { Owner } from '../../test/support/owner.ts';
import { program } from './answering-upstream.ts';
import { type Started, start, temporaryDirectory } from './child.ts';

/** A started relay. Its requests are whole HTTP/1.1 messages. */
export interface Subject extends Started {
  request(route: Route): string;
}

export const routes = ['restCall', 'restAction', 'restQuery'] as const;
export type Route = (typeof routes)[number];

/** The request to the upstream: `status`, or a large list. */
interface Asked {
  readonly upstream: string;
  readonly path?: string;
}

/** The same bytes for each relay, except for the token. */
export function requestOf(route: Route, { upstream, path = 'status', token }: Asked & { readonly token: string }): string {
  const params = { path, accept: 'application/json' };
  const [target, body] = {
    restCall: ['/tools/restCall', { uri: `${upstream}/${path}`, verb: 'GET', responseHeaders: false }],
    restAction: ['/orchestrator_manager/restAction/Bench', { params, body: { device: 'core-router-01', dryRun: false } }],
    restQuery: ['/orchestrator_manager/restQuery/Bench', { params }],
  }[route] as [string, object];
  const text = JSON.stringify(body);
  const head = [
    `POST ${target} HTTP/1.1`,
    'Host: gateway.example.net',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

export async function startBareRelay(owner: Owner, asked: Asked, mode: 'buffered' | 'stream' = 'buffered'): Promise<Subject> {
  const args = [program('bare-relay.ts'), `${asked.upstream}/${asked.path ?? 'status'}`, mode];
  const started = await start(owner, { command: process.execPath, args, directory: temporaryDirectory(owner) });
  return { ...started, request: (route) => requestOf(route, { ...asked, token: 'none' }) };
}

interface GatewayOptions extends Asked {
  /** `store.url`; a new SQLite file without it. */
  readonly store?: string;
  /** Arguments for Node itself. */
  readonly nodeArguments?: readonly string[];
  /** Number of files that it may open, where the system grants them. Beyond the hard limit this needs CAP_SYS_RESOURCE. */
  readonly openFiles?: number;
  /** The directory of an earlier start; a new one without it. */
  readonly directory?: string;
}

/** Starts this gateway with its defaults, which include log, audit log and metrics, and with path rights. */
export async function startThisGateway(owner: Owner, options: GatewayOptions): Promise<Subject> {
  const { upstream, store, nodeArguments = [], openFiles, directory = temporaryDirectory(owner) } = options;
  const paths = ['/status', '/list/*'];
  const limits = { responseLimit: '4GiB', timeouts: { total: '600s' } };
  const configuration = configurationOf({
    config: {
      outbound: { allow: [new URL(upstream).host], ...limits },
      ...(store === undefined ? {} : { store: { url: store } }),
    },
    adapters: [
      { name: 'Bench', kind: 'rest', url: upstream, concurrency: 64, allowPaths: { actions: paths, queries: paths }, ...limits },
    ],
  });
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configuration));
  const args = [...nodeArguments, executable, 'serve'];
  const started = await start(owner, { command: process.execPath, args, directory, ...(openFiles && { openFiles }) });
  const token = await tokenOf(started.port);
  return { ...started, request: (route) => requestOf(route, { ...options, token }) };
}

/** A bearer token of a user of a gateway that a benchmark started. */
export async function tokenOf(port: number, username = 'admin-user'): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, password: testPassword }),
  });
  if (reply.status !== 200) throw new Error(`login: ${reply.status} ${await reply.text()}`);
  return ((await reply.json()) as { readonly token: string }).token;
}
