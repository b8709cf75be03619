import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { childEnvironment } from '../../test/support/gateway/gateway-process.ts';
import type { Owner } from '../../test/support/owner.ts';
import { freePort } from '../../test/support/upstreams/upstream.ts';
import { temporaryDirectory } from '../speed/child.ts';
import { modules } from '../speed/node-rivals.ts';
import { input } from './jobs.ts';
import { startPeer } from './peer-side.ts';
import { creators, type Side } from './side.ts';

/** The package that has to be installed. */
export const restateModule = '@restatedev/restate-server';

interface RestateServer {
  readonly pid: number;
  /** `http://127.0.0.1:PORT`, for those who ask for runs and for those who manage it. */
  readonly ingress: string;
  readonly admin: string;
}

/**
 * Restate: its server, which has a store of its own, and a process with its services. Runs are asked for over HTTP by 32 callers, as those
 * of the gateway. Each of them waits for the end of its run, which keeps 32 runs under way.
 */
export async function restateSide(owner: Owner): Promise<Side> {
  const server = await startServer(owner);
  const port = String(await freePort());
  const start = (): Promise<ChildProcess> =>
    startPeer(owner, { name: 'Restate', program: 'restate.ts', argument: port, environment: { RESTATE_LOGGING: 'ERROR' } });
  let child = await start();
  await register(server.admin, `http://127.0.0.1:${port}`);
  const pool = new Pool(server.ingress, { connections: creators, headersTimeout: 0, bodyTimeout: 0 });
  owner.after(() => pool.destroy());
  let ended = 0;
  let failure: Error | undefined;
  return {
    name: 'Restate',
    serverPid: server.pid,
    hasOwnServer: true,
    get pid() {
      return child.pid ?? 0;
    },
    ended: async () => {
      if (failure !== undefined) throw failure;
      return ended;
    },
    async create({ job, count, far }) {
      const begun = Promise.withResolvers<void>();
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ ...input, far });
      let left = count;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const reply = pool.request({ method: 'POST', path: `/bench/${job}`, headers, body });
          if (left === 0) begun.resolve();
          const { statusCode, body: answer } = await reply;
          const text = await answer.text();
          if (statusCode !== 200) throw new Error(`Restate: ${statusCode} ${text}`);
          ended += 1;
        }
      };
      Promise.all(Array.from({ length: creators }, lane)).catch((error: Error) => {
        failure ??= error;
      });
      await begun.promise;
    },
    async replace() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      child = await start();
    },
  };
}

/** With its defaults, on ports of its own. */
async function startServer(owner: Owner): Promise<RestateServer> {
  const directory = temporaryDirectory(owner);
  const program = join(modules, `@restatedev/restate-server-${process.platform}-${process.arch}`, 'bin/restate-server');
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(program, ['--no-logo', '--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', String(node)], {
    cwd: directory,
    env: childEnvironment({
      RESTATE_BASE_DIR: directory,
      RESTATE_NODE_NAME: 'bench',
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      // At its start it asks GitHub for newer versions, which has no switch. Without a network it says so in vain.
      RESTATE_LOG_FILTER: 'error,octocrab=off',
      RESTATE_DISABLE_TELEMETRY: 'true',
    }),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const gone = once(child, 'exit');
  owner.after(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const server = { pid: child.pid ?? 0, ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  for (let attempt = 0; !(await isHealthy(server)); attempt += 1) {
    if (attempt > 600 || child.exitCode !== null) throw new Error('the server of Restate did not start');
    await sleep(100);
  }
  return server;
}

async function isHealthy({ ingress, admin }: RestateServer): Promise<boolean> {
  const answers = [`${admin}/health`, `${ingress}/restate/health`].map((url) => fetch(url).then(({ ok }) => ok));
  return (await Promise.all(answers).catch(() => [false])).every(Boolean);
}

/** Tells the server where its services are. */
async function register(admin: string, uri: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${admin}/deployments`, { method: 'POST', headers, body: JSON.stringify({ uri }) });
  if (!reply.ok) throw new Error(`Restate refused its services: ${reply.status} ${await reply.text()}`);
}
