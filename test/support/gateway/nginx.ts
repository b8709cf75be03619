import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missing } from '../installed.ts';
import { accepts } from '../listen.ts';
import type { Owner } from '../owner.ts';
import { until } from '../until.ts';
import { createAuthority } from '../upstreams/certificate.ts';
import { freePort } from '../upstreams/upstream.ts';
import { type BalancedReply, type BalancedRequest, sendBalanced } from './balanced-request.ts';
import { childEnvironment, collect } from './gateway-process.ts';

const guide = readFileSync(new URL('../../../docs/guides/nginx.conf', import.meta.url), 'utf8');

export const noNginx = missing('nginx', '-v', 'nginx');

/** nginx in front of gateways. */
export interface Nginx {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** A file with the authority of its certificate. */
  readonly caFile: string;
  /** Rejects without a complete reply. */
  send(request: BalancedRequest): Promise<BalancedReply>;
}

/**
 * Starts nginx on a free port of 127.0.0.1 with a certificate of its own; `gateways` are the ports of two servers. `how`: as the guide
 * configures it, or with nginx's defaults.
 */
export async function startNginx(owner: Owner, gateways: readonly [number, number], how: 'guide' | 'defaults'): Promise<Nginx> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-nginx-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  const authority = createAuthority();
  const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
  const [certificate, caFile, file] = [join(directory, 'gateway.pem'), join(directory, 'ca.pem'), join(directory, 'nginx.conf')];
  writeFileSync(certificate, cert + key, { mode: 0o600 });
  writeFileSync(caFile, authority.cert);
  const port = await freePort();
  const edited = configured({ port, certificate, gateways, directory });
  writeFileSync(file, how === 'guide' ? edited : withDefaults(edited));
  mkdirSync(join(directory, 'logs'));
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr', '-g', `daemon off; pid ${directory}/pid;`], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: authority.cert });
  owner.after(async () => {
    agent.destroy();
    if (child.exitCode !== null) return;
    // SIGTERM: the workers end too.
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  await until('nginx listens', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended:\n${output.stderr.join('\n')}`);
    return accepts(port);
  });
  return { url: `https://127.0.0.1:${port}`, caFile, send: (asked) => sendBalanced(agent, port, asked) };
}

/** The guide's file with other values in the lines that a reader edits too. nginx itself gets directories that any user may write. */
function configured(values: {
  readonly port: number;
  readonly certificate: string;
  readonly gateways: readonly [number, number];
  readonly directory: string;
}): string {
  const { port, certificate, gateways, directory } = values;
  const edits: readonly (readonly [string, string])[] = [
    // A worker of another user could not read the directory of this test.
    ['user www-data;', process.getuid?.() === 0 ? 'user root;' : ''],
    ['10.0.0.11:3000', `127.0.0.1:${gateways[0]}`],
    ['10.0.0.12:3000', `127.0.0.1:${gateways[1]}`],
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['ssl_certificate /etc/nginx/gateway.pem;', `ssl_certificate ${certificate};`],
    ['ssl_certificate_key /etc/nginx/gateway.pem;', `ssl_certificate_key ${certificate};`],
  ];
  let text = guide;
  for (const [from, to] of edits) {
    const pieces = text.split(from);
    if (pieces.length !== 2 || !pieces[1]?.split('\n')[0]?.endsWith('# edit')) {
      throw new Error(`docs/guides/nginx.conf has not one line "${from} # edit"`);
    }
    text = pieces.join(to);
  }
  const directories = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (what) => `${what}_temp_path ${directory}/${what};`,
  );
  return text.replace('http {', `http { access_log off; ${directories.join(' ')}`);
}

/** The same servers with nginx's defaults: it speaks HTTP/1.0 with them, and keeps replies in its buffers and files. */
function withDefaults(edited: string): string {
  return edited.replaceAll(/^ *proxy_(?!pass )\w+ .*;$/gmu, '');
}
