import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missing } from '../installed.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { createAuthority } from '../upstreams/certificate.ts';
import { freePort } from '../upstreams/upstream.ts';
import { type BalancedReply, type BalancedRequest, sendBalanced } from './balanced-request.ts';
import { childEnvironment, collect } from './gateway-process.ts';

/** The configuration of docs/guides/scaling.md. */
const configuration = fileURLToPath(new URL('../../../docs/guides/haproxy.cfg', import.meta.url));

export const noHaproxy = missing('haproxy', '-v', 'haproxy');

type Server = 'gateway-1' | 'gateway-2';

/** HAProxy as the guide configures it, in front of two addresses. */
export interface Haproxy {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** The authority of its certificate. */
  readonly ca: string;
  /** Rejects without a complete reply. */
  send(request: BalancedRequest): Promise<BalancedReply>;
  /** Asks HAProxy's admin socket (management guide, section 9.3). */
  ask(line: string): Promise<string>;
  /** Resolves once this server of the backend `gateways` is in that state. */
  becomes(server: Server, state: 'UP' | 'DOWN'): Promise<void>;
  /** Gives the server no new calls, and resolves once its calls have ended. */
  takeOut(server: Server): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1 with a certificate of its own; `gateways` are the ports of the two servers. */
export async function startHaproxy(owner: Owner, gateways: readonly [number, number]): Promise<Haproxy> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-haproxy-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  const authority = createAuthority();
  const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
  const certificate = join(directory, 'gateway.pem');
  writeFileSync(certificate, cert + key, { mode: 0o600 });
  const port = await freePort();
  const socket = join(directory, 'admin.sock');
  const child = spawn('haproxy', ['-db', '-f', configuration], {
    env: childEnvironment({
      LISTEN: `127.0.0.1:${port}`,
      CERTIFICATE: certificate,
      RUN: directory,
      GATEWAY_1: `127.0.0.1:${gateways[0]}`,
      GATEWAY_2: `127.0.0.1:${gateways[1]}`,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: authority.cert });
  owner.after(async () => {
    agent.destroy();
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const ask = (line: string): Promise<string> => askSocket(socket, line);
  const until = waiter(child, output.stderr);
  const column = (server: Server, name: string): Promise<string> => columnOf(ask, server, name);
  await until('HAProxy to answer', async () => (await ask('show info')).includes('Name: HAProxy'));
  return {
    url: `https://127.0.0.1:${port}`,
    ca: authority.cert,
    send: (asked) => sendBalanced(agent, port, asked),
    ask,
    becomes: (server, state) => until(`${server} ${state}`, async () => (await column(server, 'status')).startsWith(state)),
    takeOut: async (server) => {
      await ask(`set server gateways/${server} state drain`);
      await until(`${server} without calls`, async () => (await column(server, 'scur')) === '0');
    },
  };
}

/** A column of HAProxy's statistics for a server of the backend `gateways`. */
async function columnOf(ask: Haproxy['ask'], server: Server, column: string): Promise<string> {
  const [head = '', ...rows] = (await ask('show stat')).split('\n').map((line) => line.replace(/^# /u, ''));
  const row = rows.map((line) => line.split(',')).find(([proxy, name]) => proxy === 'gateways' && name === server);
  return row?.[head.split(',').indexOf(column)] ?? '';
}

function askSocket(path: string, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path, () => socket.write(`${line}\n`));
    socket.setEncoding('utf8');
    socket.on('data', (data: string) => {
      text += data;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

/** Polls whether `holds` is true, for half a minute. */
function waiter(child: ChildProcess, errors: readonly string[]) {
  return async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    for (let attempt = 0; attempt < 600; attempt += 1) {
      if (child.exitCode !== null) throw new Error(`haproxy ended:\n${errors.join('\n')}`);
      if (await holds().catch(() => false)) return;
      await lapse(50, 'haproxy may start');
    }
    throw new Error(`waited in vain for ${what}`);
  };
}
