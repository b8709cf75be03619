import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { arch, getuid, platform, version } from 'node:process';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { packageVersion } from '#base/package-version.ts';
import { systemCode } from '#base/system-code.ts';
import type { AdapterConfig, Config } from '#config/config.ts';
import type { Finding } from '#config/finding.ts';
import { openDatabase } from '#database/database.ts';
import { newerRows } from '#database/newer-rows.ts';
import { checkFiles, storeClock } from '#database/store-check.ts';
import { filesOf, keyFileOf } from '#database/store-part.ts';
import { type ConnectStep, createConnector } from '#outbound/dialling/connector.ts';
import { createResolver, type Resolve } from '#outbound/dialling/resolver.ts';
import { tokenConnection } from '../create-adapter.ts';
import { checkHealth } from './health.ts';
import { listenAdvice, listenFault } from './listening.ts';

/** Milliseconds that two clocks may differ: the tokens of issuers and the order of audit records need about the same time. */
const clockDifference = 60_000;
/** Bytes. A gateway keeps 256 MiB for changes and logins. */
const roomWanted = 1024 ** 3;
/** Milliseconds. */
const soon = 14 * 86_400_000;

/** Which program this is. Never rejects. */
export async function examineProgram(): Promise<Finding> {
  return ok('version', `${await packageVersion()}, Node.js ${version}, ${platform} ${arch}`);
}

/** Looks at all that a gateway needs, in the order in which a start needs it. `file`: the configuration. Never rejects. */
export async function* examine(config: Config, file: string): AsyncGenerator<Finding, void, undefined> {
  yield await examineRights(file);
  yield await examinePort(config.server);
  yield* examineStore(config.store);
  const resolve = createResolver({ concurrency: 2 });
  for (const adapter of config.adapters) yield* examineAdapter(adapter, resolve);
}

async function examineRights(file: string): Promise<Finding> {
  const subject = 'rights';
  const { mode } = await stat(file);
  if ((mode & 0o004) === 0) return ok(subject, `${file} has mode ${(mode & 0o777).toString(8)}`);
  return warning(subject, `every user of this machine can read ${file}: chmod o-r ${file}`);
}

async function examinePort(server: Config['server']): Promise<Finding> {
  const subject = 'port';
  const where = `${server.host}:${server.port}`;
  if (server.port === 0) return ok(subject, 'the gateway takes a free one');
  const fault = await listenFault(server);
  if (fault === undefined) return ok(subject, `${where} is free`);
  const answer = await answerOf(server);
  if (answer === 'status 200') return ok(subject, `a gateway answers at ${where}`);
  if (fault === 'EADDRINUSE')
    return problem(subject, `another program has ${where} (${answer}); stop it, or set another server.port`);
  return problem(subject, listenAdvice(fault, server) ?? `${where} cannot be used: ${fault}`);
}

/** What answers where the gateway would listen: its status, or why there is none. */
async function answerOf({ host, port, tls }: Config['server']): Promise<string> {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const status = checkHealth(`${tls === undefined ? 'http' : 'https'}://${name}:${port}/healthz`);
  return await status.then((code) => `status ${code}`, messageOf);
}

async function* examineStore(store: Config['store']): AsyncGenerator<Finding, void, undefined> {
  if (store.kind === 'sqlite') {
    const folder = dirname(store.file);
    const fault = await faultOf(folder, constants.W_OK);
    if (fault !== undefined) {
      const advice = `this user cannot write to ${folder} (${fault}); run this as the user of the gateway`;
      yield fault === 'ENOENT' ? ok('store', `${folder} is missing: the first start makes it`) : problem('store', advice);
      return;
    }
    yield await examineDisk(folder);
    const [main] = filesOf(store.file);
    if ((await faultOf(main.file, constants.F_OK)) === 'ENOENT') {
      yield ok('store', `there is none at ${main.file}: the first start makes it`);
      return;
    }
    for (const file of namesOf(store.file)) yield* examineFile(file, folder);
  }
  yield* examineOpened(store);
}

/** Every file that a gateway on this store reads and writes; some of them come and go. */
function namesOf(store: string): readonly string[] {
  const files = filesOf(store).flatMap(({ file }) => [file, `${file}-wal`, `${file}-shm`]);
  return [...files, keyFileOf(store), `${store}.lock`];
}

/** Whether this user can read and write one file of the store, other users cannot, and the owner of its folder can. */
async function* examineFile(file: string, folder: string): AsyncGenerator<Finding, void, undefined> {
  const fault = await faultOf(file, constants.R_OK | constants.W_OK);
  if (fault === 'ENOENT') return;
  if (fault !== undefined) {
    yield problem(
      'store',
      `this user cannot read and write ${file} (${fault}); run this as the user of the gateway, or chown the file`,
    );
    return;
  }
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  const { mode, uid } = found;
  const owner = (await stat(folder)).uid;
  // Root can use each file, and the gateway is seldom root.
  if (uid !== owner && getuid?.() === 0)
    yield warning(
      'rights',
      `${file} belongs to the user ${uid}, and its folder to ${owner}: if the gateway runs as ${owner}, chown it`,
    );
  if ((mode & 0o007) !== 0) yield warning('rights', `other users of this machine can use ${file}: chmod o-rwx ${file}`);
}

/** Why the system does not let this user use the file; undefined where it does. */
async function faultOf(file: string, mode: number): Promise<string | undefined> {
  return await access(file, mode).then(
    () => undefined,
    (error: unknown) => systemCode(error) ?? 'unknown',
  );
}

async function* examineOpened(store: Config['store']): AsyncGenerator<Finding, void, undefined> {
  try {
    const damages = store.kind === 'sqlite' ? checkFiles(store.file) : [];
    for (const damage of damages) yield problem('store', `${damage}; restore a backup`);
    const database = await openDatabase({ store, log: noLog, asItIs: true });
    try {
      await database.ping();
      yield ok('store', store.kind === 'sqlite' ? store.file : 'PostgreSQL answers, with the tables of this version');
      yield examineClock(store.kind, await storeClock(database));
      yield examineRows(await newerRows(database.read));
    } finally {
      await database.close();
    }
  } catch (error) {
    yield problem('store', messageOf(error));
  }
}

function examineRows(newer: string | undefined): Finding {
  if (newer === undefined) return ok('rows', 'this version works on every row of the store');
  return warning('rows', `some wait for a newer version of the gateway (${newer}); start one next to this one, or upgrade`);
}

function examineClock(kind: Config['store']['kind'], theirs: number | undefined): Finding {
  const ahead = (theirs ?? -Infinity) - systemClock.now();
  // The newest record of a file may be old.
  const difference = kind === 'postgres' ? Math.abs(ahead) : ahead;
  if (difference <= clockDifference) return ok('clock', new Date(systemClock.now()).toISOString());
  const other = kind === 'postgres' ? 'that of PostgreSQL' : 'the newest audit record';
  return problem('clock', `it differs from ${other} by ${Math.round(difference / 1000)} s; use NTP on both`);
}

async function examineDisk(folder: string): Promise<Finding> {
  const { bsize, bavail } = await statfs(folder);
  const free = `${Math.floor((bavail * bsize) / 1024 ** 2)} MiB are free in ${folder}`;
  return bavail * bsize < roomWanted
    ? warning('disk', `${free}; below 256 MiB runs and refusals are not stored`)
    : ok('disk', free);
}

/** Each address of an adapter instance, and the endpoint from which it gets its tokens. */
async function* examineAdapter(adapter: AdapterConfig, resolve: Resolve): AsyncGenerator<Finding, void, undefined> {
  const subject = `adapter ${adapter.name}, `;
  for (const url of adapter.urls) yield await examineAddress(subject, url, { ...adapter, resolve });
  const own = adapter.auth.type === 'caller' ? adapter.auth.service : adapter.auth;
  if (own?.type !== 'oauth2') return;
  yield await examineAddress(`${subject}tokens of `, own.tokenUrl, { ...tokenConnection(adapter), resolve });
}

/** Only connects: no request leaves, and no credential. */
async function examineAddress(prefix: string, url: string, options: Parameters<typeof createConnector>[0]): Promise<Finding> {
  const subject = prefix + new URL(url).host;
  const steps: ConnectStep[] = [];
  try {
    const connect = createConnector({ ...options, onStep: (step) => void steps.push(step) });
    const socket = await connect(new URL(url).origin);
    const expiry = 'getPeerCertificate' in socket ? Date.parse(String(certificateOf(socket)?.valid_to)) : NaN;
    socket.destroy();
    const reached = steps.join(', ');
    if (Number.isNaN(expiry)) return ok(subject, reached);
    const until = `its certificate is valid until ${new Date(expiry).toISOString()}`;
    return expiry - systemClock.now() < soon ? warning(subject, `${reached}; ${until}`) : ok(subject, `${reached}; ${until}`);
  } catch (error) {
    return problem(subject, messageOf(error));
  }
}

function certificateOf(socket: object): { readonly valid_to?: string } | undefined {
  return (socket as { readonly getPeerCertificate: () => { readonly valid_to?: string } | undefined }).getPeerCertificate();
}

/** The messages of GatewayErrors hold no secret; those of other errors may. */
function messageOf(error: unknown): string {
  return error instanceof GatewayError ? error.message : (systemCode(error) ?? 'an unknown failure');
}

function ok(subject: string, detail: string): Finding {
  return { subject, verdict: 'ok', detail };
}

function warning(subject: string, detail: string): Finding {
  return { subject, verdict: 'warning', detail };
}

function problem(subject: string, detail: string): Finding {
  return { subject, verdict: 'problem', detail };
}
