import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/upstreams/upstream.ts';
import { start, temporaryDirectory } from './child.ts';
import type { Rival } from './rival.ts';
import { requestOf } from './subjects.ts';

/** The version that a program prints; undefined where it is not installed. */
function versionOf(command: string, option: string): string | undefined {
  const { status, stdout, stderr } = spawnSync(command, [option], { encoding: 'utf8' });
  return status === 0 ? (/\d+\.\d+\.\d+/u.exec(stdout + stderr)?.[0] ?? 'unknown') : undefined;
}

/** One worker, because the other relays are one process. Connections to the upstream are kept, which is not nginx's default. */
function nginxConfiguration(port: number, upstream: string, directory: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${directory}/${name};`);
  return `daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 4096; }
http {
  access_log off; ${temporary.join(' ')}
  upstream far { server ${new URL(upstream).host}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 1000000;
    location / { proxy_pass http://far; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`;
}

export const nginx: Rival = {
  name: 'nginx',
  about: 'plain reverse proxy, one worker, checks nothing',
  route: 'restAction',
  version: () => versionOf('nginx', '-v') ?? '',
  missing: () => (versionOf('nginx', '-v') === undefined ? 'not installed: apt-get install nginx-light' : undefined),
  start: async (owner, { upstream }) => {
    const [directory, port] = [temporaryDirectory(owner), await freePort()];
    const file = join(directory, 'nginx.conf');
    writeFileSync(file, nginxConfiguration(port, upstream, directory));
    const started = await start(owner, { command: 'nginx', args: ['-c', file, '-p', directory], directory, port });
    return { ...started, request: (route) => requestOf(route, { upstream, token: 'none' }) };
  },
};

export const caddy: Rival = {
  name: 'Caddy',
  about: 'plain reverse proxy, checks nothing',
  route: 'restAction',
  version: () => versionOf('caddy', 'version') ?? '',
  missing: () => (versionOf('caddy', 'version') === undefined ? 'not installed: apt-get install caddy' : undefined),
  start: async (owner, { upstream }) => {
    const [directory, port] = [temporaryDirectory(owner), await freePort()];
    const file = join(directory, 'Caddyfile');
    const options = '{\n admin off\n auto_https off\n}\n';
    writeFileSync(file, `${options}http://:${port} {\n bind 127.0.0.1\n reverse_proxy ${new URL(upstream).host}\n}\n`);
    const environment = { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
    const args = ['run', '--config', file, '--adapter', 'caddyfile'];
    const started = await start(owner, { command: 'caddy', args, directory, port, environment });
    return { ...started, request: (route) => requestOf(route, { upstream, token: 'none' }) };
  },
};
