import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/upstreams/upstream.ts';
import { start, temporaryDirectory } from './child.ts';
import { missingModules, modules, versionOf } from './node-rivals.ts';
import type { Rival } from './rival.ts';
import { requestOf } from './subjects.ts';

const token = 'a-token-of-the-benchmark';

/** The checks of the gateway as a function node: token, role, body, path. Output 1 makes the call, output 2 answers. */
function checks(upstream: string): string {
  return `
const roles = { 'Bearer ${token}': 'engineering' };
const refuse = (status, title) => [null, { ...msg, statusCode: status, payload: { title } }];
const role = roles[msg.req.headers.authorization];
if (role === undefined) return refuse(401, 'unauthenticated');
if (role !== 'engineering' && role !== 'admin') return refuse(403, 'forbidden');
const { params } = msg.payload;
if (typeof params !== 'object' || params === null || typeof params.path !== 'string') return refuse(400, 'malformed-request');
if (params.path !== 'status') return refuse(403, 'path-denied');
msg.url = '${upstream}/' + params.path;
msg.headers = { accept: params.accept };
delete msg.payload;
return [msg, null];`;
}

function flow(upstream: string): readonly object[] {
  return [
    { id: 'tab', type: 'tab', label: 'bench' },
    { id: 'in', z: 'tab', type: 'http in', url: '/orchestrator_manager/restQuery/:adapter', method: 'post', wires: [['checks']] },
    { id: 'checks', z: 'tab', type: 'function', func: checks(upstream), outputs: 2, wires: [['ask'], ['out']] },
    { id: 'ask', z: 'tab', type: 'http request', method: 'GET', ret: 'txt', persist: true, wires: [['out']] },
    { id: 'out', z: 'tab', type: 'http response', wires: [] },
  ];
}

/** Waits for the flows: Node-RED listens before they run, and answers 404 until then. */
async function flowing(port: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const reply = await fetch(`http://127.0.0.1:${port}/orchestrator_manager/restQuery/Bench`, { method: 'POST' });
    await reply.text();
    if (reply.status !== 404) return;
    await sleep(25);
  }
  throw new Error('the flows do not start');
}

export const nodeRed: Rival = {
  name: 'Node-RED',
  about: 'token, role, schema, path by a function node; no log, no audit, no metrics',
  route: 'restQuery',
  version: () => versionOf('node-red') ?? '',
  missing: missingModules,
  start: async (owner, { upstream }) => {
    const [directory, port] = [temporaryDirectory(owner), await freePort()];
    writeFileSync(join(directory, 'flows.json'), JSON.stringify(flow(upstream)));
    const settings = { flowFile: 'flows.json', uiHost: '127.0.0.1', uiPort: port, httpAdminRoot: false };
    writeFileSync(join(directory, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
    writeFileSync(join(directory, 'package.json'), '{"private":true}');
    const args = [join(modules, 'node-red/red.js'), '--userDir', directory];
    const started = await start(owner, {
      command: process.execPath,
      args,
      directory,
      port,
      environment: { NODE_ENV: 'production' },
    });
    await flowing(port);
    return { ...started, request: (route) => requestOf(route, { upstream, token }) };
  },
};
