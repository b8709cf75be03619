import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { createGateway, type Gateway } from '../../client/src/gateway.ts';

const fixturePassword = 'the-password-of-a-fixture';

const main = resolve('src/main.ts');

/** Where the fixture of PostgreSQL is made: a schema of its own, which is dropped again. */
const postgresUrl = process.env['TEST_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const schema = 'gateway_release_fixture';

export interface FixtureFiles {
  /** A backup of a SQLite store. */
  readonly sqlite: string;
  /** The statements of a dump of PostgreSQL without the name of its schema, compressed by gzip. */
  readonly postgres: string;
}

/** Two stores of a demo in each of which one run has ended, one waits for approval, and one is suspended. */
export async function writeStoreFixtures(targets: FixtureFiles): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'store-fixture-'));
  const env: NodeJS.ProcessEnv = { ...process.env, GATEWAY_ADMIN_PASSWORD: fixturePassword };
  const start = (...parameters: readonly string[]) =>
    spawn(process.execPath, [main, ...parameters], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const demo = start('demo');
  try {
    // The automations are stored once the calls are printed.
    const gateway = gatewayAt(await readyUrl(demo.stdout, 'A query:'));
    await makeRuns(gateway);
    await ended(start('backup', 'store.backup', '--config', 'data/demo.yaml'));
    rmSync(targets.sqlite, { force: true });
    renameSync(join(cwd, 'store.backup'), targets.sqlite);
    await withSchema(async (url) => {
      env['DEMO_ORCHESTRATOR_PASSWORD'] = orchestratorPassword(cwd);
      const config = readFileSync(join(cwd, 'data/demo.yaml'), 'utf8')
        .replace(/^server: .*$/mu, 'server: { port: 0 }')
        .replace(/^store: .*$/mu, `store: { url: "${url}" }`);
      writeFileSync(join(cwd, 'data/postgres.yaml'), config);
      const other = start('serve', '--config', 'data/postgres.yaml');
      try {
        const copy = gatewayAt(await readyUrl(other.stdout, 'listening on'));
        await copy.importAutomations({ rawBody: (await gateway.exportAutomations()).value });
        await makeRuns(copy);
      } finally {
        await stopped(other);
      }
      writeFileSync(targets.postgres, gzipSync(dumpOf(), { level: 9 }));
    });
  } finally {
    await stopped(demo);
    rmSync(cwd, { recursive: true, force: true });
  }
}

function gatewayAt(baseUrl: string): Gateway {
  return createGateway({ baseUrl, username: 'admin', password: fixturePassword });
}

function orchestratorPassword(cwd: string): string {
  const { orchestrator } = JSON.parse(readFileSync(join(cwd, 'data/demo-passwords.json'), 'utf8')) as {
    readonly orchestrator: string;
  };
  return orchestrator;
}

async function makeRuns(gateway: Gateway): Promise<void> {
  const { list } = (await gateway.listAutomations()).value;
  for (const name of ['Bring up a VPN', 'Rename a device']) {
    const automation = list.find((one) => one.name === name);
    if (automation === undefined) throw new Error(`the demo has no automation "${name}"`);
    await gateway.runAutomation({ path: { id: automation._id }, body: {} });
  }
  await until(async () => {
    const runs = (await gateway.listRuns()).value.list;
    return runs.some(({ status }) => status === 'completed') && runs.some(({ status }) => status === 'waiting');
  });
}

async function withSchema(work: (url: string) => Promise<void>): Promise<void> {
  const url = new URL(postgresUrl);
  url.searchParams.set('options', `-c search_path=${schema}`);
  await execute(`drop schema if exists ${schema} cascade; create schema ${schema}`);
  try {
    await work(url.href);
  } finally {
    await execute(`drop schema ${schema} cascade`);
  }
}

async function execute(statements: string): Promise<void> {
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}

/** Settings, the schema and the commands of psql itself are left out, so that any client can run the rest in any schema. */
function dumpOf(): string {
  const options = ['--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', `--schema=${schema}`];
  const dump = execFileSync('pg_dump', [...options, postgresUrl], { encoding: 'utf8', maxBuffer: 256 * 1024 ** 2 });
  const left = /^(?:--|\\|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA|\s*$)/u;
  const lines = dump.split('\n').filter((line) => !left.test(line));
  return `${lines.join('\n').replaceAll(`${schema}.`, '')}\n`;
}

/** The address, once the program has printed this. */
async function readyUrl(stdout: Readable, word: string): Promise<string> {
  let said = '';
  stdout.on('data', (part: Buffer) => (said += part.toString()));
  await until(async () => said.includes(word) && /^listening on \S+$/mu.test(said));
  return /^listening on (\S+)$/mu.exec(said)?.[1] ?? '';
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`${child.spawnargs.join(' ')} ended with ${code}`);
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function until(happened: () => Promise<boolean>): Promise<void> {
  for (let patience = 300; !(await happened()); patience -= 1) {
    if (patience === 0) throw new Error('the fixture did not get where it should');
    await new Promise((next) => setTimeout(next, 100));
  }
}
