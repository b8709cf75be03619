/**
 * What a large reply costs: the gateway's memory over idle, and its throughput, for each relay route.
 *
 *   node bench/large-reply.ts [MiB]        default 1024
 *
 * Linux only: memory is read from /proc. Everything runs on loopback and stops by itself.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashPassword } from '../src/access/password-hash.ts';

const size = Number(process.argv[2] ?? 1024) * 1024 ** 2;
const memoryMark = 64;

/** A list of instances as JSON, repeated until `bytes` are out. */
function streamList(response: ServerResponse, bytes: number): void {
  response.setHeader('Content-Type', 'application/yang-data+json');
  const entry = `{"name":"interface-0000","description":"an \\"uplink\\" to Zürich","counters":{"in":18446744073709551615,"out":[1.0,2,3]}},`;
  const block = Buffer.from(entry.repeat(512));
  let left = bytes;
  response.write('{"x:interface":[');
  const more = (): void => {
    while (left > 0) {
      left -= block.length;
      if (!response.write(block)) {
        response.once('drain', more);
        return;
      }
    }
    response.end('{"name":"last"}]}');
  };
  more();
}

async function residentMebibytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`, 'u').exec(status)?.[1] ?? 0) / 1024;
}

/** Sets the high-water mark back to what is resident now (proc(5), clear_refs). */
function resetHighWaterMark(pid: number): Promise<void> {
  return writeFile(`/proc/${pid}/clear_refs`, '5');
}

interface Measured {
  readonly bytes: number;
  readonly seconds: number;
  readonly firstByteMs: number;
}

function download(url: string, authorization: string, body: string): Promise<Measured> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: authorization,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    const sent = request(url, { method: 'POST', headers }, (response) => {
      let bytes = 0;
      let firstByteMs = 0;
      let tail = '';
      response.on('data', (chunk: Buffer) => {
        firstByteMs ||= performance.now() - started;
        bytes += chunk.length;
        tail = chunk.subarray(-8).toString('latin1');
      });
      response.on('end', () => {
        if (response.statusCode !== 200 || !/[}\]]$/u.test(tail))
          reject(new Error(`status ${response.statusCode}, ends ${JSON.stringify(tail)}`));
        else resolve({ bytes, seconds: (performance.now() - started) / 1000, firstByteMs });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const directory = await mkdtemp(join(tmpdir(), 'large-reply-'));
const farSide = createServer(({ url }, response) => streamList(response, url?.includes('warm') === true ? 1024 ** 2 : size));
await new Promise<void>((resolve) => farSide.listen(0, '127.0.0.1', resolve));
const farPort = (farSide.address() as AddressInfo).port;
const config = join(directory, 'gateway.yaml');
await writeFile(
  config,
  `server: { port: 0, logLevel: warn }
access: { users: [{ username: admin, passwordHash: "${await hashPassword('bench')}", roles: [admin] }] }
outbound: { allow: ["127.0.0.1:${farPort}"], responseLimit: 4GiB, timeouts: { total: 600s } }
adapters: [{ name: big, kind: restconf, url: "http://127.0.0.1:${farPort}", auth: { type: none }, responseLimit: 4GiB }]
`,
);
const gateway = spawn(process.execPath, ['src/main.ts', 'serve', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise<string>((resolve, reject) => {
  gateway.stdout.on('data', (chunk: Buffer) => {
    const found = /listening on (\S+)/u.exec(chunk.toString());
    if (found?.[1] !== undefined) resolve(found[1]);
  });
  gateway.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
});

const authorization = `Basic ${Buffer.from('admin:bench').toString('base64')}`;
const uri = `http://127.0.0.1:${farPort}/`;
const params = { path: 'x', accept: 'application/yang-data+json' };
const routes = [
  { name: 'restCall', path: '/tools/restCall', body: { uri, verb: 'GET', responseHeaders: false } },
  { name: 'restCall with headers', path: '/tools/restCall', body: { uri, verb: 'GET', responseHeaders: true } },
  { name: 'restAction', path: '/orchestrator_manager/restAction/big', body: { params, body: {} } },
  { name: 'restQuery', path: '/orchestrator_manager/restQuery/big', body: { params } },
  { name: 'restRequest', path: '/orchestrator_manager/restRequest/big', body: { params: { ...params, method: 'GET' } } },
];

try {
  const pid = gateway.pid ?? 0;
  await download(
    `${url}/tools/restCall`,
    authorization,
    JSON.stringify({ uri: `${uri}?warm`, verb: 'GET', responseHeaders: false }),
  );
  console.log(`far side replies ${Math.round(size / 1024 ** 2)} MiB; node ${process.versions.node}`);
  console.log('| route | MiB out | s | MiB/s | first byte ms | idle MiB | peak MiB | over idle MiB |');
  console.log('|---|---|---|---|---|---|---|---|');
  let worst = 0;
  for (const { name, path, body } of routes) {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await resetHighWaterMark(pid);
    const idle = await residentMebibytes(pid, 'VmRSS');
    const { bytes, seconds, firstByteMs } = await download(url + path, authorization, JSON.stringify(body));
    const peak = await residentMebibytes(pid, 'VmHWM');
    worst = Math.max(worst, peak - idle);
    const mebibytes = bytes / 1024 ** 2;
    const cells = [
      mebibytes.toFixed(0),
      seconds.toFixed(1),
      (mebibytes / seconds).toFixed(0),
      firstByteMs.toFixed(0),
      idle.toFixed(0),
      peak.toFixed(0),
      (peak - idle).toFixed(0),
    ];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
  console.log(
    `at most ${worst.toFixed(0)} MiB over idle (mark: ${memoryMark} MiB): ${worst <= memoryMark ? 'reached' : 'NOT reached'}`,
  );
  process.exitCode = worst <= memoryMark ? 0 : 1;
} finally {
  gateway.kill('SIGTERM');
  farSide.close();
  farSide.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
}
